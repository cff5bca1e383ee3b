import { type Collective, opOf } from '../collectives/collective.js';
import { goalOf } from './goal.js';
import type { Schedule } from './schedule.js';
import { type StepsByChunk, stepsByChunk } from './steps-by-chunk.js';

/**
 * For each chunk, the order in which ranks are combined from left to right. Combining all inputs in
 * this order in one pass gives the same bits as the schedule. Undefined if some chunk has another
 * arithmetic, as in (a + b) + (c + d), or different orders on the ranks that receive it. The
 * schedule must be accepted by `verify`.
 */
export function chainsOf(schedule: Schedule, collective: Collective): readonly (readonly number[])[] | undefined {
  const { ranks, chunks } = schedule;
  const { soleContributor, soleReceiver } = goalOf(collective, schedule);
  if (opOf(collective) === undefined) {
    const alone = Array.from({ length: ranks }, (_, rank) => [rank]);
    return Array.from({ length: chunks }, (_, chunk) => alone[soleContributor(chunk) as number] as readonly number[]);
  }
  const run = new ChainRun(ranks, stepsByChunk(schedule));
  const chains: (readonly number[])[] = [];
  for (let chunk = 0; chunk < chunks; chunk++) {
    run.execute(chunk);
    const chain = run.chainAt(soleReceiver(chunk));
    if (!chain) return undefined;
    chains.push(chain);
  }
  return chains;
}

// What a rank holds if its value is not a chain.
const noChain = -1;

/**
 * Executes the steps of one chunk at a time on chains: contributions combined from left to right.
 * A chain is the index of its last contribution in the lists of a chunk. Chains `0` to `ranks - 1`
 * are the contributions of single ranks.
 */
class ChainRun {
  readonly #ranks: number;
  readonly #steps: StepsByChunk;
  /** By chain: the chain of all contributions but the last. */
  readonly #before: Int32Array;
  /** By chain: the rank of the last contribution. */
  readonly #last: Int32Array;
  /** By chain: number of contributions. */
  readonly #length: Int32Array;
  #count = 0;
  /** By rank: the chain that it holds, or `noChain`. */
  readonly #held: Int32Array;

  constructor(ranks: number, steps: StepsByChunk) {
    this.#ranks = ranks;
    this.#steps = steps;
    const { begins } = steps;
    // A step makes fewer chains than it has integers.
    const most = begins.reduce((longest, begin, chunk) => Math.max(longest, begin - (begins[chunk - 1] ?? 0)), 0);
    this.#before = new Int32Array(ranks + most);
    this.#last = Int32Array.from({ length: ranks + most }, (_, rank) => rank);
    this.#length = new Int32Array(ranks + most).fill(1);
    this.#held = new Int32Array(ranks);
  }

  execute(chunk: number): void {
    const { begins, words } = this.#steps;
    const held = this.#held;
    for (let rank = 0; rank < this.#ranks; rank++) held[rank] = rank;
    this.#count = this.#ranks;
    for (let at = begins[chunk] as number; at < (begins[chunk + 1] as number); ) {
      const to = words[at] as number;
      const end = at + 2 + (words[at + 1] as number);
      let chain = held[words[at + 2] as number] as number;
      for (at += 3; at < end; at++) chain = this.#combine(chain, held[words[at] as number] as number);
      held[to] = chain;
    }
  }

  /** The ranks of the chain at `rank`, or at all ranks if undefined; undefined unless there is one and the same. */
  chainAt(rank: number | undefined): readonly number[] | undefined {
    const chain = this.#held[rank ?? 0] as number;
    if (chain === noChain) return undefined;
    if (rank === undefined && !this.#held.every((other) => this.#areSame(chain, other))) return undefined;
    const ranks = new Array<number>(this.#length[chain] as number);
    let link = chain;
    for (let at = ranks.length - 1; at >= 0; at--) {
      ranks[at] = this.#last[link] as number;
      link = this.#before[link] as number;
    }
    return ranks;
  }

  // The arithmetic is bitwise commutative, so a single contribution extends a chain from either side.
  #combine(left: number, right: number): number {
    if (left === noChain || right === noChain) return noChain;
    if (this.#length[right] === 1) return this.#extended(left, right);
    return this.#length[left] === 1 ? this.#extended(right, left) : noChain;
  }

  #extended(chain: number, single: number): number {
    const made = this.#count++;
    this.#before[made] = chain;
    this.#last[made] = single;
    this.#length[made] = (this.#length[chain] as number) + 1;
    return made;
  }

  #areSame(one: number, other: number): boolean {
    if (other === noChain || this.#length[one] !== this.#length[other]) return false;
    let a = one;
    let b = other;
    while (a !== b && this.#last[a] === this.#last[b] && this.#length[a] !== 1) {
      a = this.#before[a] as number;
      b = this.#before[b] as number;
    }
    return a === b;
  }
}

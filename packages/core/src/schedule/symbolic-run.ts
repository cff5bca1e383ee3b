import type { Collective } from '../collectives/collective.js';
import { type Goal, goalOf } from './goal.js';
import { RankSets } from './rank-sets.js';
import type { Schedule, Transfer } from './schedule.js';
import { type TransfersByChunk, transfersByChunk } from './transfers-by-chunk.js';

/** The first problem of each kind, as text; undefined if there is none. */
export interface Findings {
  /** A transfer that reads what is not there, or races with another one of its round. */
  readonly invalid: string | undefined;
  /** An output that is wrong after the last round. Valid only if no transfer is invalid. */
  readonly wrong: string | undefined;
  /**
   * A redundant transfer: the target rank already has the value, or never uses the value afterwards.
   * Valid only if the schedule has no other problem.
   */
  readonly needless: string | undefined;
}

/**
 * Executes a schedule on sets of ranks instead of numbers, chunk by chunk. All transfers must name
 * ranks and chunks of the schedule.
 */
export function runSymbolically(schedule: Schedule, collective: Collective): Findings {
  const run = new SymbolicRun(schedule, collective);
  for (let chunk = 0; chunk < schedule.chunks; chunk++) run.execute(chunk);
  return run.findings();
}

/** A problem of one transfer. */
interface TransferProblem {
  readonly round: number;
  readonly transfer: Transfer;
  readonly text: string;
}

/** The first transfer that counted a contribution twice in a rank's chunk. */
interface Spoil {
  readonly twice: readonly number[];
  readonly round: number;
  readonly transfer: Transfer;
}

/**
 * The state of one chunk on all ranks, and the problems found so far. Values are updated at once,
 * which is safe because no chunk of a rank may be both read and written in one round.
 */
class SymbolicRun {
  readonly #schedule: Schedule;
  readonly #goal: Goal;
  readonly #byChunk: TransfersByChunk;
  /** By rank: the ranks whose contributions the rank's chunk includes; none if it is empty. */
  readonly #held: RankSets;
  /** By rank: the first transfer that spoiled the rank's chunk. */
  readonly #spoils: (Spoil | undefined)[];
  // By rank: one more than the last round in which its chunk was read or written.
  readonly #read: Int32Array;
  readonly #copied: Int32Array;
  readonly #reduced: Int32Array;
  /** By rank, from the last round back to the first: whether its chunk after the round is used. */
  readonly #isUsed: Uint8Array;
  #invalid: TransferProblem | undefined;
  #wrong: string | undefined;
  /** A transfer that copies a value to a rank that already has it. */
  #repeated: TransferProblem | undefined;
  #unused: TransferProblem | undefined;

  constructor(schedule: Schedule, collective: Collective) {
    const { ranks } = schedule;
    this.#schedule = schedule;
    this.#goal = goalOf(collective, schedule);
    this.#byChunk = transfersByChunk(schedule);
    this.#held = new RankSets(ranks);
    this.#spoils = new Array<Spoil | undefined>(ranks).fill(undefined);
    this.#read = new Int32Array(ranks);
    this.#copied = new Int32Array(ranks);
    this.#reduced = new Int32Array(ranks);
    this.#isUsed = new Uint8Array(ranks);
  }

  findings(): Findings {
    const textOf = (problem: TransferProblem | undefined) => problem && `round ${problem.round}: ${problem.text}`;
    return {
      invalid: textOf(this.#invalid),
      wrong: this.#wrong,
      needless: textOf(this.#repeated ?? this.#unused),
    };
  }

  /** Executes all transfers of a chunk. */
  execute(chunk: number): void {
    this.#begin(chunk);
    if (this.#executeAll(chunk)) {
      this.#wrong ??= this.#outputProblems(chunk);
      this.#findUnused(chunk);
    }
  }

  /** Gives each rank its contribution, and clears what the transfers of the last chunk left. */
  #begin(chunk: number): void {
    const own = this.#goal.soleContributor(chunk);
    if (own === undefined) {
      for (let rank = 0; rank < this.#schedule.ranks; rank++) this.#reset(rank, true);
      return;
    }
    // Only these ranks are looked at, so that a schedule of many chunks with few transfers each
    // costs little.
    this.#reset(own, true);
    this.#forRanksOf(chunk, (rank) => this.#reset(rank, rank === own));
    const receiver = this.#goal.soleReceiver(chunk);
    if (receiver !== undefined) this.#reset(receiver, receiver === own);
    else for (let rank = 0; rank < this.#schedule.ranks; rank++) this.#reset(rank, rank === own);
  }

  #reset(rank: number, contributes: boolean): void {
    this.#held.clear(rank);
    if (contributes) this.#held.add(rank, rank);
    this.#spoils[rank] = undefined;
    this.#read[rank] = 0;
    this.#copied[rank] = 0;
    this.#reduced[rank] = 0;
  }

  #forRanksOf(chunk: number, visit: (rank: number) => void): void {
    const { begins, transfers } = this.#byChunk;
    for (let at = begins[chunk] as number; at < (begins[chunk + 1] as number); at++) {
      const { from, to } = transfers[at] as Transfer;
      visit(from);
      visit(to);
    }
  }

  /** Returns whether all transfers are valid. */
  #executeAll(chunk: number): boolean {
    const { begins, transfers, rounds } = this.#byChunk;
    for (let at = begins[chunk] as number; at < (begins[chunk + 1] as number); at++) {
      const transfer = transfers[at] as Transfer;
      const round = rounds[at] as number;
      const text = this.#race(round + 1, transfer) ?? this.#absence(transfer);
      if (text !== undefined) {
        this.#invalid = this.#earlier(this.#invalid, { round, transfer, text });
        return false;
      }
      this.#move(round, transfer);
    }
    return true;
  }

  #race(stamp: number, transfer: Transfer): string | undefined {
    const { from, to, chunk, reduce } = transfer;
    if (this.#copied[from] === stamp || this.#reduced[from] === stamp) {
      return `${wordsOf(transfer)} while chunk ${chunk} at rank ${from} is being written`;
    }
    if (this.#read[to] === stamp) return `${wordsOf(transfer)} while rank ${to} sends its chunk`;
    if (this.#copied[to] === stamp || (this.#reduced[to] === stamp && !reduce)) {
      return `${wordsOf(transfer)} while another rank writes the same chunk there`;
    }
    return undefined;
  }

  // Only the source can be empty: in reductions every rank contributes to every chunk.
  #absence(transfer: Transfer): string | undefined {
    const { from } = transfer;
    return this.#held.isEmpty(from) ? `${wordsOf(transfer)}, but rank ${from} does not have that chunk` : undefined;
  }

  #move(round: number, transfer: Transfer): void {
    const { from, to, reduce } = transfer;
    const held = this.#held;
    if (!reduce && !this.#spoils[to] && held.areEqual(from, to)) {
      const text = `${wordsOf(transfer)}, which already has the chunk: remove this transfer`;
      this.#repeated = this.#earlier(this.#repeated, { round, transfer, text });
    }
    const inherited = earlierSpoil(this.#spoils[from], reduce ? this.#spoils[to] : undefined);
    const isTwice = reduce && held.overlap(from, to);
    this.#spoils[to] = inherited ?? (isTwice ? { twice: held.common(from, to), round, transfer } : undefined);
    if (!reduce) held.clear(to);
    held.addAll(to, from);
    this.#read[from] = round + 1;
    (reduce ? this.#reduced : this.#copied)[to] = round + 1;
  }

  #outputProblems(chunk: number): string | undefined {
    const receiver = this.#goal.soleReceiver(chunk);
    if (receiver !== undefined) return this.#outputProblem(receiver, chunk);
    for (let rank = 0; rank < this.#schedule.ranks; rank++) {
      const problem = this.#outputProblem(rank, chunk);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #outputProblem(rank: number, chunk: number): string | undefined {
    const own = this.#goal.soleContributor(chunk);
    if (this.#held.isEmpty(rank)) return `after the last round rank ${rank} has no chunk ${chunk}`;
    if (own === undefined && !this.#held.isWhole(rank)) {
      return `after the last round chunk ${chunk} at rank ${rank} lacks the contribution of ${ranksIn(this.#held.missing(rank))}`;
    }
    const spoil = this.#spoils[rank];
    if (!spoil) return undefined;
    const { twice, round, transfer } = spoil;
    const where = `first in round ${round}, when rank ${transfer.to} gets it from rank ${transfer.from}`;
    return `after the last round chunk ${chunk} at rank ${rank} has the contribution of ${ranksIn(twice)} more than once, ${where}`;
  }

  #findUnused(chunk: number): void {
    const { begins, transfers, rounds } = this.#byChunk;
    const isUsed = this.#isUsed;
    const receiver = this.#goal.soleReceiver(chunk);
    if (receiver === undefined) isUsed.fill(1);
    else {
      this.#forRanksOf(chunk, (rank) => {
        isUsed[rank] = 0;
      });
      isUsed[receiver] = 1;
    }
    // No chunk of a rank is both read and written in a round, so the order of its transfers does
    // not matter.
    let unused: TransferProblem | undefined;
    for (let at = (begins[chunk + 1] as number) - 1; at >= (begins[chunk] as number); at--) {
      const transfer = transfers[at] as Transfer;
      const round = rounds[at] as number;
      // Transfers of earlier rounds may be unused only because of this one.
      if (unused && round < unused.round) break;
      const { from, to, reduce } = transfer;
      if (!isUsed[to]) {
        const text = `${wordsOf(transfer)}, which does not use the chunk: remove this transfer`;
        unused = { round, transfer, text };
        this.#unused = this.#later(this.#unused, unused);
        continue;
      }
      if (!reduce) isUsed[to] = 0;
      isUsed[from] = 1;
    }
  }

  #earlier(one: TransferProblem | undefined, other: TransferProblem): TransferProblem {
    return one === undefined || this.#compare(one, other) > 0 ? other : one;
  }

  /** The one of the later round; of the same round, the one that stands first in it. */
  #later(one: TransferProblem | undefined, other: TransferProblem): TransferProblem {
    if (one === undefined || one.round < other.round) return other;
    return one.round === other.round && this.#compare(one, other) > 0 ? other : one;
  }

  #compare(one: TransferProblem, other: TransferProblem): number {
    const positionOf = ({ round, transfer }: TransferProblem) => this.#schedule.rounds[round]?.indexOf(transfer) ?? 0;
    return one.round - other.round || positionOf(one) - positionOf(other);
  }
}

function earlierSpoil(one: Spoil | undefined, other: Spoil | undefined): Spoil | undefined {
  if (!one || !other) return one ?? other;
  return one.round <= other.round ? one : other;
}

/** A transfer as text, for messages. */
export function wordsOf({ from, to, chunk, reduce }: Transfer): string {
  return reduce
    ? `rank ${from} adds chunk ${chunk} to the chunk of rank ${to}`
    : `rank ${from} copies chunk ${chunk} to rank ${to}`;
}

function ranksIn(ranks: readonly number[]): string {
  return `${ranks.length === 1 ? 'rank' : 'ranks'} ${ranks.join(', ')}`;
}

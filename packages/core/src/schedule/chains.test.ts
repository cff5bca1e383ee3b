import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { chainsOf } from './chains.js';
import type { Round, Schedule, Transfer } from './schedule.js';
import { problemOf } from './verify.js';

const add = (from: number, to: number, chunk = 0): Transfer => ({ from, to, chunk, reduce: true });
const copy = (from: number, to: number, chunk = 0): Transfer => ({ from, to, chunk, reduce: false });
const schedule = (ranks: number, chunks: number, ...rounds: Round[]): Schedule => ({ ranks, chunks, rounds });

const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };
const reduceTo = (root: number): Collective => ({ kind: 'reduce', op: 'sum', root });

describe('chainsOf', () => {
  it('lists the ranks that one round adds up in rank order', () => {
    expect(chainsOf(schedule(4, 1, [add(3, 1), add(0, 1), add(2, 1)]), reduceTo(1))).toEqual([[0, 1, 2, 3]]);
  });

  it('follows a chunk from rank to rank, whether the partial result is the first or second operand', () => {
    expect(chainsOf(schedule(4, 1, [add(2, 3)], [add(3, 1)], [add(1, 0)]), reduceTo(0))).toEqual([[2, 3, 1, 0]]);
    expect(chainsOf(schedule(4, 1, [add(2, 1)], [add(1, 3)], [add(0, 3)]), reduceTo(3))).toEqual([[1, 2, 3, 0]]);
  });

  it('continues a chain with a partial result that is the first or second of several operands', () => {
    expect(chainsOf(schedule(4, 1, [add(1, 0)], [add(2, 0), add(3, 0)]), reduceTo(0))).toEqual([[0, 1, 2, 3]]);
    expect(chainsOf(schedule(4, 1, [add(3, 1)], [add(0, 1), add(2, 1)]), reduceTo(1))).toEqual([[1, 3, 0, 2]]);
  });

  it('returns no chain if a partial result is the third operand', () => {
    expect(chainsOf(schedule(4, 1, [add(3, 2)], [add(0, 2), add(1, 2)]), reduceTo(2))).toBeUndefined();
  });

  it('returns no chain for a tree of partial results', () => {
    expect(chainsOf(schedule(4, 1, [add(1, 0), add(3, 2)], [add(2, 0)]), reduceTo(0))).toBeUndefined();
  });

  it('returns no chain if ranks end with different sums', () => {
    const rounds = [
      [add(1, 0)],
      [copy(0, 1)],
      [add(2, 0), add(3, 1)],
      [add(3, 0), add(2, 1)],
      [copy(0, 2), copy(1, 3)],
    ];
    const mixed = schedule(4, 1, ...rounds);
    expect(problemOf(mixed, allReduce)).toBeUndefined();
    expect(chainsOf(mixed, allReduce)).toBeUndefined();
    expect(chainsOf(mixed, reduceTo(0))).toEqual([[0, 1, 2, 3]]);
    expect(chainsOf(mixed, reduceTo(1))).toEqual([[0, 1, 3, 2]]);
  });

  it('returns one rank per chunk if the collective does not reduce', () => {
    expect(chainsOf(schedule(2, 2, [copy(0, 1, 0), copy(1, 0, 1)]), { kind: 'all-gather' })).toEqual([[0], [1]]);
    expect(chainsOf(schedule(2, 1, [copy(1, 0)]), { kind: 'broadcast', root: 1 })).toEqual([[1]]);
    expect(chainsOf(schedule(1, 2), allReduce)).toEqual([[0], [0]]);
  });

  it('checks only the owner of each block of a reduce-scatter', () => {
    const rounds = [[add(0, 1, 1), add(2, 1, 1), add(1, 0, 0), add(2, 0, 0), add(0, 2, 2)], [add(1, 2, 2)]];
    const notOrdered = schedule(3, 3, ...rounds);
    expect(chainsOf(notOrdered, { kind: 'reduce-scatter', op: 'sum' })).toEqual([
      [0, 1, 2],
      [0, 1, 2],
      [0, 2, 1],
    ]);
  });
});

/**
 * A random schedule that combines all contributions at one rank and copies the result to all ranks.
 */
interface Merging {
  readonly schedule: Schedule;
  /** The order of combination as a nested list, for example `[[0, 1], 2]`. */
  readonly tree: Tree;
}

type Tree = number | readonly [Tree, Tree];

/**
 * In each step, one to three ranks add their values to another rank. Its result, or another one,
 * may then move to a rank without a value in use.
 */
const mergings: fc.Arbitrary<Merging> = fc
  .tuple(fc.integer({ min: 1, max: 7 }), fc.infiniteStream(fc.nat(1000)))
  .map(([ranks, choices]) => {
    const choose = (count: number) => (choices.next().value as number) % count;
    const places = new Map<number, Tree>(Array.from({ length: ranks }, (_, rank) => [rank, rank]));
    // By rank: the last value written to its place, even if the value has been added elsewhere since.
    const held: Tree[] = [...places.values()];
    const rounds: Round[] = [];
    while (places.size > 1) {
      const alive = [...places.keys()];
      const to = alive.splice(choose(alive.length), 1)[0] as number;
      const joining = Array.from(
        { length: 1 + choose(Math.min(alive.length, 3)) },
        () => alive.splice(choose(alive.length), 1)[0] as number,
      );
      rounds.push(joining.map((from) => add(from, to)));
      const operands = [to, ...joining].sort((a, b) => a - b).map((rank) => places.get(rank) as Tree);
      for (const rank of joining) places.delete(rank);
      held[to] = operands.reduce((left, right) => [left, right]);
      places.set(to, held[to]);
      if (choose(3) > 0) continue;
      const [from, moved] = [...places][choose(places.size)] as [number, Tree];
      const empty = [...held.keys()].filter((rank) => !places.has(rank) && held[rank] !== moved);
      if (empty.length === 0) continue;
      const next = empty[choose(empty.length)] as number;
      rounds.push([copy(from, next)]);
      held[next] = moved;
      places.set(next, moved);
      places.delete(from);
    }
    const [[end, tree]] = [...places] as [[number, Tree]];
    const others = [...held.keys()].filter((rank) => held[rank] !== tree);
    if (others.length > 0) rounds.push(others.map((rank) => copy(end, rank)));
    return { schedule: { ranks, chunks: 1, rounds }, tree };
  });

const isChain = (tree: Tree): boolean => {
  if (typeof tree === 'number') return true;
  const [left, right] = tree;
  return typeof right === 'number' ? isChain(left) : typeof left === 'number' && isChain(right);
};

const sumOf = (tree: Tree, values: readonly number[]): number =>
  typeof tree === 'number' ? (values[tree] as number) : Math.fround(sumOf(tree[0], values) + sumOf(tree[1], values));

describe('for random schedules that reduce and copy, chainsOf', () => {
  const values = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 7, maxLength: 7 });

  it('finds a chain exactly if one exists, and the chain gives the same bits as the schedule', () => {
    fc.assert(
      fc.property(mergings, values, ({ schedule: merging, tree }, inputs) => {
        expect(problemOf(merging, allReduce)).toBeUndefined();
        const chain = chainsOf(merging, allReduce)?.[0];
        expect(chain !== undefined).toBe(isChain(tree));
        if (!chain) return;
        const folded = chain.map((rank) => inputs[rank] as number).reduce((sum, value) => Math.fround(sum + value));
        expect(folded).toBe(sumOf(tree, inputs));
      }),
      { numRuns: 500 },
    );
  });
});

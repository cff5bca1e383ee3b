import { describe, expect, it } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { onChunks, onRanks, pipelined, refine, scheduleOf, sequence, sideBySide, together } from './compose.js';
import { draw } from './draw.js';
import type { Schedule, Transfer } from './schedule.js';
import { problemOf } from './verify.js';

const add = (from: number, to: number, chunk = 0): Transfer => ({ from, to, chunk, reduce: true });
const copy = (from: number, to: number, chunk = 0): Transfer => ({ from, to, chunk, reduce: false });
const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };

const pair: Schedule = { ranks: 2, chunks: 1, rounds: [[add(1, 0)], [copy(0, 1)]] };

/**
 * Block r of all ranks is combined at rank r (`scatter`), and from there copied to all ranks
 * (`gather`).
 */
function scatterAndGather(ranks: number): { scatter: Schedule; gather: Schedule } {
  const everyone = Array.from({ length: ranks }, (_, rank) => rank);
  const pairs = everyone.flatMap((from) => everyone.filter((to) => to !== from).map((to) => ({ from, to })));
  return {
    scatter: scheduleOf(ranks, ranks, [pairs.map(({ from, to }) => add(from, to, to))]),
    gather: scheduleOf(ranks, ranks, [pairs.map(({ from, to }) => copy(from, to, from))]),
  };
}

describe('scheduleOf', () => {
  it('omits rounds without transfers', () => {
    expect(scheduleOf(2, 1, [[], [add(1, 0)], []]).rounds).toEqual([[add(1, 0)]]);
  });
});

describe('sequence()', () => {
  it('executes schedules one after the other', () => {
    const { scatter, gather } = scatterAndGather(3);
    const whole = sequence(scatter, gather);
    expect(whole.rounds).toHaveLength(2);
    expect(problemOf(whole, allReduce)).toBeUndefined();
  });

  it('refuses schedules of different sizes, and an empty list', () => {
    const sizes =
      'cannot compose schedules of different sizes: one has 2 ranks and 1 chunks, the other 2 ranks and 3 chunks';
    expect(() => sequence(pair, pair, { ...pair, chunks: 3 })).toThrow(sizes);
    expect(() => sequence()).toThrow('the list of schedules to compose must not be empty');
  });
});

describe('together()', () => {
  it('continues the longer schedule when the shorter has ended', () => {
    const whole = together(onRanks(pair, [0, 1], 3), { ranks: 3, chunks: 1, rounds: [[], [], [copy(0, 2)]] });
    expect(draw(whole)).toBe(['round 0 | 1 -(0)+> 0', 'round 1 | 0 -(0)-> 1', 'round 2 | 0 -(0)-> 2'].join('\n'));
  });
});

describe('sideBySide()', () => {
  it('runs schedules at once, each on its own chunks', () => {
    const backwards = onRanks(pair, [1, 0], 2);
    const whole = sideBySide([pair, backwards], (which) => 1 - which);
    expect(whole.chunks).toBe(2);
    expect(whole.rounds).toEqual([
      [add(1, 0, 1), add(0, 1, 0)],
      [copy(0, 1, 1), copy(1, 0, 0)],
    ]);
    expect(problemOf(whole, allReduce)).toBeUndefined();
  });
});

describe('onRanks()', () => {
  it('maps a schedule to a sub-group of ranks', () => {
    expect(onRanks(pair, [4, 2], 6)).toEqual({ ranks: 6, chunks: 1, rounds: [[add(2, 4)], [copy(4, 2)]] });
  });

  it('refuses a sub-group of the wrong size, or with a rank twice', () => {
    expect(() => onRanks(pair, [1], 4)).toThrow('a schedule for 2 ranks cannot be executed by the ranks (1)');
    expect(() => onRanks(pair, [1, 1], 4)).toThrow('cannot be executed by the ranks (1, 1)');
  });
});

describe('onChunks()', () => {
  it('maps a schedule to other chunks', () => {
    expect(onChunks(pair, (chunk) => chunk + 2, 4)).toEqual({
      ranks: 2,
      chunks: 4,
      rounds: [[add(1, 0, 2)], [copy(0, 1, 2)]],
    });
  });
});

describe('refine()', () => {
  it('keeps the result of a schedule when its chunks are split', () => {
    const { scatter, gather } = scatterAndGather(3);
    const fine = refine(sequence(scatter, gather), 4);
    expect(fine.chunks).toBe(12);
    expect(problemOf(fine, allReduce)).toBeUndefined();
    expect(problemOf(refine(scatter, 4), { kind: 'reduce-scatter', op: 'sum' })).toBeUndefined();
    expect(problemOf(refine(gather, 4), { kind: 'all-gather' })).toBeUndefined();
  });
});

it('composed schedules build a hierarchical all-reduce: within each worker, across workers, and back', () => {
  const [workers, perWorker] = [3, 4];
  const total = workers * perWorker;
  const within = scatterAndGather(perWorker);
  const across = sequence(scatterAndGather(workers).scatter, scatterAndGather(workers).gather);
  const rankOf = (worker: number, local: number) => worker * perWorker + local;
  const locals = Array.from({ length: perWorker }, (_, local) => local);
  const everyWorker = (schedule: Schedule) =>
    together(
      ...Array.from({ length: workers }, (_, worker) => {
        const members = locals.map((local) => rankOf(worker, local));
        return onRanks(refine(schedule, workers), members, total);
      }),
    );
  const peersOf = (local: number) => Array.from({ length: workers }, (_, worker) => rankOf(worker, local));
  const everyLocal = sideBySide(
    locals.map((local) => onRanks(across, peersOf(local), total)),
    (local, piece) => local * workers + piece,
  );
  const whole = sequence(everyWorker(within.scatter), everyLocal, everyWorker(within.gather));
  expect(problemOf(whole, allReduce)).toBeUndefined();
});

describe('pipelined()', () => {
  it('starts each block one round after the block before it', () => {
    const [first, second] = [[copy(0, 1)], [copy(1, 2)]];
    const { ranks, chunks, rounds } = pipelined({ ranks: 3, chunks: 1, rounds: [first, second] }, 2);
    const ofBlock = (round: readonly Transfer[]) => round.map((transfer) => ({ ...transfer, chunk: 1 }));
    expect({ ranks, chunks }).toEqual({ ranks: 3, chunks: 2 });
    expect(rounds).toEqual([first, [...second, ...ofBlock(first)], ofBlock(second)]);
  });

  it('keeps one block as it is, and an empty schedule empty', () => {
    const schedule = { ranks: 3, chunks: 1, rounds: [[copy(0, 1)], [copy(1, 2)]] };
    expect(pipelined(schedule, 1)).toEqual(schedule);
    expect(pipelined({ ranks: 1, chunks: 2, rounds: [] }, 3)).toEqual({ ranks: 1, chunks: 6, rounds: [] });
  });
});

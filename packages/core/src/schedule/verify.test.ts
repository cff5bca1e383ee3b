import { describe, expect, it } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { CollError } from '../support/errors.js';
import type { Round, Schedule, Transfer } from './schedule.js';
import { problemOf, verify } from './verify.js';

const add = (from: number, to: number, chunk = 0): Transfer => ({ from, to, chunk, reduce: true });
const copy = (from: number, to: number, chunk = 0): Transfer => ({ from, to, chunk, reduce: false });
const schedule = (ranks: number, chunks: number, ...rounds: Round[]): Schedule => ({ ranks, chunks, rounds });

const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };
const allGather: Collective = { kind: 'all-gather' };
const reduceScatter: Collective = { kind: 'reduce-scatter', op: 'sum' };
const reduceTo = (root: number): Collective => ({ kind: 'reduce', op: 'max', root });
const allToAll: Collective = { kind: 'all-to-all' };
const gatherTo = (root: number): Collective => ({ kind: 'gather', root });
const scatterFrom = (root: number): Collective => ({ kind: 'scatter', root });
const broadcastFrom = (root: number): Collective => ({ kind: 'broadcast', root });

describe('problemOf finds nothing wrong with', () => {
  it.each<[string, Schedule, Collective]>([
    ['one rank without rounds', schedule(1, 3), allReduce],
    ['an all-reduce through one rank', schedule(3, 1, [add(1, 0), add(2, 0)], [copy(0, 1), copy(0, 2)]), allReduce],
    [
      'an all-reduce by halves',
      schedule(2, 2, [add(0, 1, 1), add(1, 0, 0)], [copy(0, 1, 0), copy(1, 0, 1)]),
      allReduce,
    ],
    ['a tree', schedule(4, 1, [add(1, 0), add(3, 2)], [add(2, 0)]), reduceTo(0)],
    ['a chain of copies', schedule(3, 1, [copy(2, 0)], [copy(0, 1)]), broadcastFrom(2)],
    ['an all-gather', schedule(2, 2, [copy(0, 1, 0), copy(1, 0, 1)]), allGather],
    ['a reduce-scatter', schedule(2, 2, [add(0, 1, 1), add(1, 0, 0)]), reduceScatter],
    ['a gather through another rank', schedule(3, 3, [copy(0, 1, 0)], [copy(1, 2, 0), copy(1, 2, 1)]), gatherTo(2)],
    ['a scatter', schedule(3, 3, [copy(1, 0, 0), copy(1, 2, 2)]), scatterFrom(1)],
    ['an all-to-all', schedule(2, 4, [copy(0, 1, 1), copy(1, 0, 2)]), allToAll],
    ['a round in which nothing moves', schedule(2, 1, [copy(0, 1)], []), broadcastFrom(0)],
  ])('%s', (_, right, collective) => {
    expect(problemOf(right, collective)).toBeUndefined();
  });
});

describe('problemOf names the first problem:', () => {
  it.each<[string, Schedule, Collective]>([
    ['a schedule must be { ranks, chunks, rounds }, got undefined', undefined as unknown as Schedule, allReduce],
    [
      'a schedule must be { ranks, chunks, rounds }, got an object (Promise)',
      Promise.resolve() as unknown as Schedule,
      allReduce,
    ],
    ['ranks must be a whole number, 1 or more, got 0', schedule(0, 1), allReduce],
    ['4294967296 chunks are too many for 2 ranks', schedule(2, 2 ** 32), allReduce],
    ['round 0: a round must be a list of transfers, got null', schedule(2, 1, null as unknown as Round), allReduce],
    [
      'round 1: a transfer must be { from, to, chunk, reduce }, got null',
      schedule(2, 1, [], [null as unknown as Transfer]),
      allReduce,
    ],
    ['chunks must be a whole number, 1 or more, got 1.5', schedule(2, 1.5), allReduce],
    ['3 chunks cannot be divided into one block for each of 2 ranks', schedule(2, 3), allGather],
    ['6 chunks cannot be divided into one block for each pair of 2 ranks', schedule(2, 6), allToAll],
    ['after the last round rank 2 has no chunk 1', schedule(3, 3, [copy(0, 2, 0)]), gatherTo(2)],
    ['after the last round rank 0 has no chunk 0', schedule(2, 2, []), scatterFrom(1)],
    ['after the last round rank 1 has no chunk 1', schedule(2, 4, [copy(1, 0, 2)]), allToAll],
    [
      'round 0: rank 0 copies chunk 2 to rank 1, but rank 0 does not have that chunk',
      schedule(2, 4, [copy(0, 1, 2)]),
      allToAll,
    ],
    [
      'round 0: rank 0 copies chunk 0 to rank 1, which does not use the chunk: remove this transfer',
      schedule(2, 4, [copy(0, 1, 1), copy(1, 0, 2), copy(0, 1, 0)]),
      allToAll,
    ],
    [
      'round 0: rank 0 adds chunk 0 to the chunk of rank 1, but this collective does not reduce',
      schedule(2, 2, [add(0, 1)]),
      gatherTo(1),
    ],
    ['root must be one of the 2 ranks, got rank 2', schedule(2, 1), broadcastFrom(2)],
    ['unknown op "xor"', schedule(1, 1), { kind: 'all-reduce', op: 'xor' as 'sum' }],
    [
      'round 1: rank 2 copies chunk 0 to rank 1, but the ranks are 0 to 1, not 2',
      schedule(2, 1, [copy(0, 1)], [copy(2, 1)]),
      broadcastFrom(0),
    ],
    [
      'round 0: rank 0 adds chunk 0 to the chunk of rank -1, but the ranks are 0 to 1, not -1',
      schedule(2, 1, [add(0, -1)]),
      allReduce,
    ],
    [
      'round 0: rank 0 adds chunk 1 to the chunk of rank 1, but the chunks are 0 to 0',
      schedule(2, 1, [add(0, 1, 1)]),
      allReduce,
    ],
    [
      'round 0: rank 1 copies chunk 0 to rank 1, but a rank cannot send to itself',
      schedule(2, 1, [copy(1, 1)]),
      allReduce,
    ],
    [
      'round 0: rank 0 adds chunk 0 to the chunk of rank 1, but this collective does not reduce',
      schedule(2, 1, [add(0, 1)]),
      broadcastFrom(0),
    ],
    [
      'round 0: rank 1 copies chunk 0 to rank 0, but rank 1 does not have that chunk',
      schedule(2, 1, [copy(1, 0)]),
      broadcastFrom(0),
    ],
    [
      'round 0: rank 1 copies chunk 0 to rank 2 while chunk 0 at rank 1 is being written',
      schedule(3, 1, [copy(0, 1), copy(1, 2)]),
      broadcastFrom(0),
    ],
    [
      'round 0: rank 0 copies chunk 0 to rank 2 while chunk 0 at rank 0 is being written',
      schedule(3, 1, [add(1, 0), copy(0, 2)]),
      allReduce,
    ],
    [
      'round 0: rank 2 adds chunk 0 to the chunk of rank 0 while rank 0 sends its chunk',
      schedule(3, 1, [add(0, 1), add(2, 0)]),
      allReduce,
    ],
    [
      'round 0: rank 1 copies chunk 0 to rank 2 while another rank writes the same chunk there',
      schedule(3, 1, [copy(0, 2), copy(1, 2)]),
      allReduce,
    ],
    [
      'round 0: rank 1 copies chunk 0 to rank 2 while another rank writes the same chunk there',
      schedule(3, 1, [add(0, 2), copy(1, 2)]),
      allReduce,
    ],
    [
      'round 0: rank 1 adds chunk 0 to the chunk of rank 2 while another rank writes the same chunk there',
      schedule(3, 1, [copy(0, 2), add(1, 2)]),
      allReduce,
    ],
    ['after the last round rank 1 has no chunk 0', schedule(2, 1), broadcastFrom(0)],
    [
      'after the last round chunk 0 at rank 0 lacks the contribution of ranks 1, 3',
      schedule(4, 1, [add(2, 0)]),
      reduceTo(0),
    ],
    [
      'round 1: rank 1 copies chunk 0 to rank 0, which already has the chunk: remove this transfer',
      schedule(2, 1, [copy(0, 1)], [copy(1, 0)]),
      broadcastFrom(0),
    ],
    [
      'round 1: rank 2 copies chunk 0 to rank 1, which already has the chunk: remove this transfer',
      schedule(3, 1, [copy(0, 1), copy(0, 2)], [copy(2, 1)]),
      broadcastFrom(0),
    ],
    [
      'round 1: rank 0 adds chunk 0 to the chunk of rank 1, which does not use the chunk: remove this transfer',
      schedule(2, 1, [add(1, 0)], [add(0, 1)]),
      reduceTo(0),
    ],
    [
      'round 1: rank 1 copies chunk 0 to rank 0, which already has the chunk: remove this transfer',
      schedule(2, 2, [copy(0, 1), copy(0, 1, 1)], [copy(1, 0)], [copy(1, 0, 1)]),
      broadcastFrom(0),
    ],
    [
      'round 0: rank 1 copies chunk 1 to rank 2, but rank 1 does not have that chunk',
      schedule(3, 2, [copy(1, 2, 1)], [copy(2, 1, 0)], [null as unknown as Transfer]),
      broadcastFrom(0),
    ],
    [
      // A contribution is counted twice, but the result is overwritten.
      'round 1: rank 0 adds chunk 0 to the chunk of rank 1, which does not use the chunk: remove this transfer',
      schedule(2, 1, [add(1, 0)], [add(0, 1)], [copy(0, 1)]),
      allReduce,
    ],
    [
      'round 1: rank 0 copies chunk 0 to rank 1, which does not use the chunk: remove this transfer',
      schedule(2, 1, [add(1, 0)], [copy(0, 1)]),
      reduceTo(0),
    ],
    [
      'round 1: rank 1 copies chunk 0 to rank 2, which does not use the chunk: remove this transfer',
      schedule(3, 3, [add(1, 0), add(2, 0), add(0, 1, 1), add(2, 1, 1), add(0, 2, 2), add(1, 2, 2)], [copy(1, 2)]),
      reduceScatter,
    ],
  ])('%s', (problem, wrong, collective) => {
    expect(problemOf(wrong, collective)).toBe(problem);
  });
});

describe('problemOf', () => {
  it('names the round in which a contribution was first counted twice', () => {
    const rounds = [[add(0, 1)], [add(0, 1)], [add(2, 1)], [add(1, 3)]];
    expect(problemOf(schedule(4, 1, ...rounds), reduceTo(3))).toBe(
      'after the last round chunk 0 at rank 3 has the contribution of rank 0 more than once, ' +
        'first in round 1, when rank 1 gets it from rank 0',
    );
  });

  it('reports a transfer as redundant if only redundant transfers use its value', () => {
    const rounds = [[add(1, 0), add(2, 0)], [copy(0, 1)], [copy(1, 2)]];
    expect(problemOf(schedule(3, 1, ...rounds), reduceTo(0))).toBe(
      'round 2: rank 1 copies chunk 0 to rank 2, which does not use the chunk: remove this transfer',
    );
  });

  it('returns the same result for any order of the transfers in a round', () => {
    const right = [
      [add(2, 0), add(1, 0)],
      [copy(0, 2), copy(0, 1)],
    ];
    const wrong = [[copy(1, 2), copy(0, 1)]];
    for (const order of [(round: Round) => round, (round: Round) => round.toReversed()]) {
      expect(problemOf(schedule(3, 1, ...right.map(order)), allReduce)).toBeUndefined();
      expect(problemOf(schedule(3, 1, ...wrong.map(order)), allReduce)).toContain('while');
    }
  });

  it('finds no problem in a fully connected all-reduce of 64 ranks', () => {
    const everyone = Array.from({ length: 64 }, (_, rank) => rank);
    const pairs = everyone.flatMap((from) => everyone.filter((to) => to !== from).map((to) => [from, to] as const));
    const rounds = [pairs.map(([from, to]) => add(from, to, to)), pairs.map(([from, to]) => copy(from, to, from))];
    expect(problemOf(schedule(64, 64, ...rounds), allReduce)).toBeUndefined();
  });
});

describe('verify()', () => {
  it('returns silently for a correct schedule', () => {
    expect(() => verify(schedule(2, 1, [copy(0, 1)]), broadcastFrom(0))).not.toThrow();
  });

  it('throws a CollError that names the collective and the problem', () => {
    const error = new CollError(
      'ERR_COLL_SCHEDULE',
      'the schedule is not correct for reduce max to rank 0: after the last round chunk 0 at rank 0 lacks the contribution of rank 1',
      { operation: 'reduce max to rank 0' },
    );
    expect(() => verify(schedule(2, 1), reduceTo(0))).toThrow(error);
  });
});

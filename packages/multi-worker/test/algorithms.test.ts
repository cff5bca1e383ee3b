import type { Collective } from '@coll/core';
import { type Algorithm, chainsOf, cost, draw, problemOf, scheduleOf } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import {
  binaryTreeAlgorithm,
  hierarchicalAlgorithm,
  recursiveHalvingDoublingAlgorithm,
  type SpecChoice,
  shuffleAlgorithm,
  specAlgorithm,
  type Workers,
} from '@coll/multi-worker';
import { ringAlgorithm } from '@coll/ring';
import { algorithmSuite } from '@coll/testing';
import { describe, expect, it } from 'vitest';
import { shapes } from './shapes.ts';

const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };
const named = (name: string) => (_: string, declare: () => void) => describe(name, declare);

algorithmSuite({ test: it, describe, algorithm: recursiveHalvingDoublingAlgorithm(), ranks: [1, 2, 4, 8, 16, 32] });
algorithmSuite({ test: it, describe, algorithm: binaryTreeAlgorithm() });
algorithmSuite({ test: it, describe, algorithm: shuffleAlgorithm({ gatherRanks: [0] }) });
algorithmSuite({
  test: it,
  describe: named('shuffle with a rank twice'),
  algorithm: shuffleAlgorithm({ gatherRanks: [2, 0, 2] }),
  ranks: [3, 4, 7, 33],
});
for (const workers of [1, 2, 4]) {
  algorithmSuite({
    test: it,
    describe: named(`ring within, halving and doubling across ${workers} workers`),
    algorithm: hierarchicalAlgorithm({ workers, within: ringAlgorithm(), across: recursiveHalvingDoublingAlgorithm() }),
    ranks: [workers, 2 * workers, 3 * workers, 8 * workers],
  });
}
algorithmSuite({
  test: it,
  describe: named('direct within, ring across 3 workers in 4 blocks'),
  algorithm: hierarchicalAlgorithm({ workers: 3, within: directAlgorithm(), across: ringAlgorithm(), blocks: 4 }),
  ranks: [3, 6, 12],
});
const choices: readonly SpecChoice[] = [
  { alg: 'xring', shards: 2 },
  { alg: 'pscpu', shards: 2 },
  { alg: 'psgpu', shards: 3 },
  { alg: 'pscpu/pscpu', shards: 2 },
];
for (const choice of choices) {
  algorithmSuite({
    test: it,
    describe,
    algorithm: specAlgorithm(choice, { workers: 3, gpusPerWorker: 2 }),
    ranks: [6],
  });
}

const schedulesOf = (choice: SpecChoice, workers: Workers): readonly Algorithm[] =>
  [0, 1, 2, 3].map((group) => specAlgorithm(choice, workers, group));

describe('every schedule of a specification', () => {
  it.each(shapes)('is proved correct for $workers workers with $gpusPerWorker devices', (shape) => {
    const { workers, gpusPerWorker } = shape;
    const ranks = workers * gpusPerWorker;
    const most = { xring: gpusPerWorker, pscpu: workers, psgpu: ranks, 'pscpu/pscpu': workers } as const;
    for (const [alg, shards] of Object.entries(most) as [keyof typeof most, number][]) {
      for (let shard = 1; shard <= shards; shard++) {
        for (const algorithm of schedulesOf({ alg, shards: shard }, shape)) {
          expect(problemOf(algorithm.plan(allReduce, ranks), allReduce)).toBeUndefined();
        }
      }
    }
  });
});

describe('recursive halving-doubling', () => {
  it('keeps the first half of the data on the lower rank of each pair', () => {
    expect(draw(recursiveHalvingDoublingAlgorithm().plan(allReduce, 4))).toBe(
      [
        'round 0 | 1 -(0)+> 0   1 -(1)+> 0   0 -(2)+> 1   0 -(3)+> 1   3 -(0)+> 2   3 -(1)+> 2   2 -(2)+> 3   2 -(3)+> 3',
        'round 1 | 2 -(0)+> 0   3 -(2)+> 1   0 -(1)+> 2   1 -(3)+> 3',
        'round 2 | 2 -(1)-> 0   3 -(3)-> 1   0 -(0)-> 2   1 -(2)-> 3',
        'round 3 | 1 -(2)-> 0   1 -(3)-> 0   0 -(0)-> 1   0 -(1)-> 1   3 -(2)-> 2   3 -(3)-> 2   2 -(0)-> 3   2 -(1)-> 3',
      ].join('\n'),
    );
  });

  it.each([2, 4, 8, 16])('needs 2 log2(%i) rounds and sends as few bytes as a ring', (ranks) => {
    const machine = { bytes: 64 * ranks, alpha: 0, beta: 1, gamma: 0 };
    const { rounds, bytesPerRank } = cost(recursiveHalvingDoublingAlgorithm().plan(allReduce, ranks), machine);
    expect(rounds).toBe(2 * Math.log2(ranks));
    expect(bytesPerRank).toBe(2 * 64 * (ranks - 1));
  });

  it('reduces to a root and broadcasts from it in 2 log2(N) rounds', () => {
    for (const collective of [
      { kind: 'reduce', op: 'sum', root: 5 },
      { kind: 'broadcast', root: 5 },
    ] as const) {
      expect(recursiveHalvingDoublingAlgorithm().plan(collective, 8).rounds).toHaveLength(6);
    }
  });

  it('refuses numbers of ranks that are not a power of two', () => {
    for (const ranks of [3, 5, 6, 7, 12]) {
      expect(recursiveHalvingDoublingAlgorithm().refuses?.(allReduce, ranks)).toMatch(
        `must be a power of two, got ${ranks}`,
      );
      expect(() => recursiveHalvingDoublingAlgorithm().plan(allReduce, ranks)).toThrow(/power of two/);
    }
  });

  it.each([1, 2, 8])('returns the same transfers from stream() as from plan(), for %i ranks', (ranks) => {
    const streamed = recursiveHalvingDoublingAlgorithm().stream?.(allReduce, ranks);
    expect(scheduleOf(ranks, streamed?.chunks ?? 0, streamed?.rounds ?? [])).toEqual(
      recursiveHalvingDoublingAlgorithm().plan(allReduce, ranks),
    );
  });
});

describe('binary tree', () => {
  it('combines values up the tree, and copies the result down', () => {
    expect(draw(binaryTreeAlgorithm().plan(allReduce, 6))).toBe(
      [
        'round 0 | 3 -(0)+> 1   4 -(0)+> 1   5 -(0)+> 2',
        'round 1 | 1 -(0)+> 0   2 -(0)+> 0',
        'round 2 | 0 -(0)-> 1   0 -(0)-> 2',
        'round 3 | 1 -(0)-> 3   1 -(0)-> 4   2 -(0)-> 5',
      ].join('\n'),
    );
  });

  it.each([2, 3, 4, 7, 8, 13, 33])('needs two rounds per level of the tree of %i ranks', (ranks) => {
    const depth = Math.floor(Math.log2(ranks));
    expect(binaryTreeAlgorithm().plan(allReduce, ranks).rounds).toHaveLength(2 * depth);
    for (const kind of ['reduce', 'broadcast'] as const) {
      expect(binaryTreeAlgorithm().plan({ kind, op: 'sum', root: ranks - 1 }, ranks).rounds).toHaveLength(depth);
    }
  });
});

describe('the shuffle algorithm', () => {
  it('combines in rank order, whichever ranks gather', () => {
    const { plan } = shuffleAlgorithm({ gatherRanks: [3, 1, 1] });
    expect(chainsOf(plan(allReduce, 4), allReduce)).toEqual([0, 1, 2].map(() => [0, 1, 2, 3]));
  });

  it('refuses collectives other than all-reduce, unknown ranks, and an empty list of ranks', () => {
    const { refuses, plan } = shuffleAlgorithm({ gatherRanks: [2] });
    expect(refuses?.({ kind: 'all-gather' }, 4)).toBe('the shuffle algorithm supports all-reduce, but not all-gather');
    expect(refuses?.(allReduce, 2)).toBe('gatherRanks contains rank 2, but there are only 2 ranks');
    expect(() => plan(allReduce, 2)).toThrow('gatherRanks contains rank 2');
    for (const gatherRanks of [[], [-1], [0.5], undefined as never, 3 as never])
      expect(() => shuffleAlgorithm({ gatherRanks })).toThrow(/gatherRanks must be a list of ranks/);
  });
});

describe('a hierarchical algorithm', () => {
  it('combines within each worker, then across workers', () => {
    const algorithm = specAlgorithm({ alg: 'pscpu/pscpu', shards: 2 }, { workers: 2, gpusPerWorker: 2 });
    expect(draw(algorithm.plan(allReduce, 4))).toBe(
      [
        'round 0 | 1 -(0)+> 0   3 -(0)+> 2   1 -(1)+> 0   3 -(1)+> 2',
        'round 1 | 2 -(0)+> 0   0 -(1)+> 2',
        'round 2 | 0 -(0)-> 2   2 -(1)-> 0',
        'round 3 | 0 -(0)-> 1   2 -(0)-> 3   0 -(1)-> 1   2 -(1)-> 3',
      ].join('\n'),
    );
  });

  it('of one worker has no second level', () => {
    const algorithm = specAlgorithm({ alg: 'pscpu/pscpu', shards: 1 }, { workers: 1, gpusPerWorker: 3 });
    expect(draw(algorithm.plan(allReduce, 3))).toBe(
      ['round 0 | 1 -(0)+> 0   2 -(0)+> 0', 'round 1 | 0 -(0)-> 1   0 -(0)-> 2'].join('\n'),
    );
  });

  it('refuses collectives that its levels refuse, and ranks that do not divide evenly', () => {
    const algorithm = hierarchicalAlgorithm({
      workers: 3,
      within: ringAlgorithm(),
      across: recursiveHalvingDoublingAlgorithm(),
    });
    expect(algorithm.refuses?.(allReduce, 6)).toMatch(/number of ranks must be a power of two, got 3/);
    expect(algorithm.refuses?.(allReduce, 7)).toBe('7 ranks cannot be divided evenly across 3 workers');
    expect(algorithm.refuses?.({ kind: 'broadcast', root: 0 }, 6)).toMatch(/but not broadcast/);
    expect(() => algorithm.plan(allReduce, 7)).toThrow(/cannot be divided evenly/);
  });
});

describe('the gathering ranks of a specification', () => {
  it('change from group to group, and are replaced by others of the worker if they have no component', () => {
    const gatherers = (choice: SpecChoice, group: number, ranks: number) => {
      const { rounds } = specAlgorithm(choice, { workers: 2, gpusPerWorker: 2 }, group).plan(allReduce, ranks);
      return [...new Set(rounds[0]?.map(({ to }) => to))];
    };
    expect([0, 1, 2].map((group) => gatherers({ alg: 'pscpu', shards: 1 }, group, 4))).toEqual([[0], [2], [0]]);
    expect([0, 1].map((group) => gatherers({ alg: 'psgpu', shards: 2 }, group, 4))).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect([0, 1].map((group) => gatherers({ alg: 'psgpu', shards: 2 }, group, 2))).toEqual([[0], [1]]);
  });
});

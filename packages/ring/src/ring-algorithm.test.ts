import { type Collective, ValueError } from '@coll/core';
import { chainsOf, cost, problemOf } from '@coll/core/schedule';
import { describe, expect, it } from 'vitest';
import { type RingAlgorithmOptions, ringAlgorithm, ringPermutations } from './ring-algorithm.js';

const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };

function collectivesOf(ranks: number): Collective[] {
  const roots = Array.from({ length: ranks }, (_, rank) => rank);
  return [
    allReduce,
    { kind: 'all-gather' },
    { kind: 'reduce-scatter', op: 'sum' },
    ...roots.map((root): Collective => ({ kind: 'reduce', op: 'sum', root })),
    ...roots.map((root): Collective => ({ kind: 'broadcast', root })),
  ];
}

function expectProven(options: RingAlgorithmOptions, ranks: number): void {
  const algorithm = ringAlgorithm(options);
  for (const collective of collectivesOf(ranks)) {
    expect(problemOf(algorithm.plan(collective, ranks), collective)).toBeUndefined();
  }
}

describe('ringPermutations', () => {
  it('rotates the ring of one worker for each sub-chunk', () => {
    expect(ringPermutations(1, 2, [0, 1, 2])).toEqual({
      ranks: [
        [0, 1, 2],
        [2, 0, 1],
      ],
      predecessors: [
        [2, 0, 1],
        [2, 0, 1],
      ],
    });
  });

  it('visits workers in the given order', () => {
    expect(ringPermutations(2, 2, [1, 0])).toEqual({
      ranks: [
        [1, 0, 3, 2],
        [0, 1, 2, 3],
      ],
      predecessors: [
        [1, 2, 3, 0],
        [3, 0, 1, 2],
      ],
    });
  });

  it('returns an empty list without devices', () => {
    expect(ringPermutations(0, 2, [0, 1])).toEqual({ ranks: [], predecessors: [] });
    expect(ringPermutations(2, 2, [])).toEqual({ ranks: [], predecessors: [] });
  });

  it('refuses more sub-chunks than devices per worker', () => {
    expect(() => ringPermutations(2, 3, [0, 1])).toThrow(ValueError);
  });
});

describe('ringAlgorithm', () => {
  it('is proved correct for every collective and root of 1 to 33 ranks', () => {
    for (let ranks = 1; ranks <= 33; ranks++) expectProven({}, ranks);
  });

  it.each([2, 3, 4])('is proved correct with %i sub-chunks', (subChunks) => {
    for (const ranks of [1, ...[4, 5, 6, 7, 8, 9, 12, 16], 33]) expectProven({ subChunks }, ranks);
  });

  it.each([
    { workers: 2, subChunks: 1, order: [1, 0] },
    { workers: 2, subChunks: 2, order: [1, 0] },
    { workers: 3, subChunks: 2, order: [2, 0, 1] },
    { workers: 2, subChunks: 3, order: [0, 2, 1, 3] },
    { workers: 4, subChunks: 4, order: [3, 1, 2, 0] },
    { workers: 5, subChunks: 1, order: [0] },
    { workers: 1, subChunks: 4, order: [4, 2, 0, 3, 1] },
    { workers: 8, subChunks: 2, order: undefined },
  ])('is proved correct with $workers workers, $subChunks sub-chunks and order $order', ({ order, ...options }) => {
    expectProven({ ...options, order }, options.workers * (order?.length ?? 2));
  });

  it('moves in every round exactly the chunks that the definition of the ring requires', () => {
    const [devices, subChunks] = [4, 2];
    const { ranks, predecessors } = ringPermutations(2, subChunks, [1, 0]);
    const { rounds } = ringAlgorithm({ workers: 2, subChunks, order: [1, 0] }).plan(allReduce, devices);
    expect(rounds).toHaveLength(2 * (devices - 1));
    for (const [index, round] of rounds.entries()) {
      const reduce = index < devices - 1;
      const tick = reduce ? index + 2 : index - (devices - 1) + 1;
      const expected = ranks.flatMap((ring, s) =>
        ring.map((rank, to) => {
          const segment = (rank - tick + 2 * devices) % devices;
          return { from: predecessors[s]?.[to], to, chunk: segment * subChunks + s, reduce };
        }),
      );
      expect(round).toHaveLength(expected.length);
      expect(round).toEqual(expect.arrayContaining(expected));
    }
  });

  it('combines each chunk in ring order, from the device after its owner to its owner', () => {
    const chains = chainsOf(ringAlgorithm().plan(allReduce, 5), allReduce);
    expect(chains).toEqual([
      [1, 2, 3, 4, 0],
      [2, 3, 4, 0, 1],
      [3, 4, 0, 1, 2],
      // Swapping the first two contributions changes nothing, so the lower rank is listed first.
      [0, 4, 1, 2, 3],
      [0, 1, 2, 3, 4],
    ]);
  });

  it('sends 2(N-1)/N of the buffer from every rank, and no more over any link', () => {
    const schedule = ringAlgorithm().plan(allReduce, 8);
    const { rounds, bytesPerRank, busiestLink } = cost(schedule, {
      kind: 'all-reduce',
      bytes: 8000,
      alpha: 0,
      beta: 1,
      gamma: 0,
    });
    expect({ rounds, bytesPerRank, bytes: busiestLink?.bytes }).toEqual({
      rounds: 14,
      bytesPerRank: 14_000,
      bytes: 14_000,
    });
  });

  it('has no rounds for one rank, with any options', () => {
    for (const collective of collectivesOf(1)) {
      expect(ringAlgorithm({ subChunks: 3, workers: 2 }).plan(collective, 1).rounds).toEqual([]);
    }
  });

  it('refuses groups that do not match its options, and does not plan for them', () => {
    const cases: [RingAlgorithmOptions, number, string][] = [
      [{ workers: 2 }, 5, '5 ranks cannot be divided evenly across 2 workers'],
      [{ workers: 2, order: [0, 1, 2] }, 4, 'order must contain each rank of a worker, got 3 ranks for a worker of 2'],
      [
        { workers: 2, subChunks: 3 },
        4,
        'subChunks must not exceed the ranks per worker, got 3 sub-chunks for 2 ranks per worker',
      ],
    ];
    for (const [options, ranks, reason] of cases) {
      const algorithm = ringAlgorithm(options);
      expect(algorithm.refuses?.(allReduce, ranks)).toBe(reason);
      expect(() => algorithm.plan(allReduce, ranks)).toThrow(ValueError);
    }
  });

  it('refuses options that are invalid for every group', () => {
    expect(() => ringAlgorithm({ subChunks: 0 })).toThrow('subChunks must be 1 or more, got 0');
    expect(() => ringAlgorithm({ workers: 1.5 })).toThrow('workers must be 1 or more, got 1.5');
    expect(() => ringAlgorithm({ order: [0, 2] })).toThrow(
      'order must contain each rank of a worker once, starting from 0, got [0, 2]',
    );
    expect(() => ringAlgorithm({ order: [] })).toThrow(ValueError);
  });
});

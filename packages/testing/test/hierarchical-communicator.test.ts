import { hierarchical } from '@coll/core';
import { ReferenceCommunicator, rankOfWorker, ThreadCommunicator } from '@coll/core/internal';
import { createThreadGroup } from '@coll/core/plugin';
import { directAlgorithm } from '@coll/direct';
import { controllerGroup, executorSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';

const kinds = ['all-reduce', 'broadcast', 'all-gather'] as const;
const portable = (size: number) => new ReferenceCommunicator({ size, algorithm: directAlgorithm() });

/** Two workers with as many ranks, or one more in the second. */
const workersOf = (size: number) => (size === 1 ? [1] : [Math.floor(size / 2), Math.ceil(size / 2)]);

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'two levels, one controller',
    membersOf: () => 1,
    open: controllerGroup((_, size) => {
      const ranksPerWorker = workersOf(size);
      return hierarchical(ranksPerWorker.map(portable), portable(ranksPerWorker.length), { ranksPerWorker });
    }),
    ranks: [1, 3, 4],
    kinds,
  }),
);

/** That many ranks among threads, all in this one. */
function threadRanksHere(size: number) {
  const group = createThreadGroup({ size });
  return Array.from(
    { length: size },
    (_, rank) => new ThreadCommunicator(group, { rank, algorithm: directAlgorithm() }),
  );
}

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'two levels, one controller per worker',
    membersOf: (size) => (size === 5 ? 3 : 2),
    lacks: ['crash', 'reserve'],
    open: controllerGroup((_, size) => {
      const ranksPerWorker = size === 5 ? [2, 1, 2] : workersOf(size);
      return threadRanksHere(ranksPerWorker.length).map((across, worker) =>
        hierarchical([portable(ranksPerWorker[worker] as number)], across, { ranksPerWorker }),
      );
    }),
    ranks: [2, 3, 5],
    kinds,
  }),
);

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'two levels, one controller per rank',
    membersOf: (size) => size,
    lacks: ['crash', 'reserve'],
    open: controllerGroup((_, size) => {
      const ranks = size === 2 ? 1 : 2;
      const leaders = threadRanksHere(size / ranks);
      return leaders.flatMap((leader, worker) =>
        threadRanksHere(ranks).map((within, place) =>
          rankOfWorker(within, { workers: leaders.length, worker, across: place === 0 ? leader : undefined }),
        ),
      );
    }),
    ranks: [2, 4],
    kinds,
  }),
);

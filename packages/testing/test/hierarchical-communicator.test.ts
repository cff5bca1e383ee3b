import { createThreadGroup, hierarchical, PortableCommunicator, ThreadCommunicator } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { controllerGroup, executorSuite } from '@coll/testing';
import { describe, it } from 'vitest';

const test = (name: string, run: () => void | Promise<void>) => it(name, run, 60_000);
const kinds = ['all-reduce', 'broadcast', 'all-gather'] as const;
const portable = (size: number) => new PortableCommunicator({ size, algorithm: directAlgorithm });

/** Two workers with as many ranks, or one more in the second. */
const workersOf = (size: number) => (size === 1 ? [1] : [Math.floor(size / 2), Math.ceil(size / 2)]);

executorSuite({
  test,
  describe,
  name: 'two levels in one hand',
  open: controllerGroup((_, size) => {
    const ranksPerWorker = workersOf(size);
    return hierarchical(ranksPerWorker.map(portable), portable(ranksPerWorker.length), { ranksPerWorker });
  }),
  ranks: [1, 3, 4],
  kinds,
});

executorSuite({
  test,
  describe,
  name: 'two levels, one worker in each hand',
  open: controllerGroup((_, size) => {
    const ranksPerWorker = workersOf(size);
    const group = createThreadGroup({ size: ranksPerWorker.length });
    return ranksPerWorker.map((ranks, rank) => {
      const across = new ThreadCommunicator(group, { rank, algorithm: directAlgorithm });
      return hierarchical([portable(ranks)], across, { ranksPerWorker });
    });
  }),
  ranks: [2, 3],
  kinds,
});

import { executorSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';
import { algorithms } from './algorithms.ts';
import { processGroups } from './process-groups.ts';

const transport = 'shared-memory';
const threads = await processGroups({ transport, threadsPerProcess: 2 });
const membersOf = (size: number) => Math.min(size, 2);
const workers = await processGroups({ transport, by: 'joinTwoLevels', membersOf });
afterAll(() => Promise.all([threads.close(), workers.close()]));

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'two threads in each process',
    membersOf: (size) => size,
    lacks: ['reserve'],
    open: threads.open,
    algorithms: algorithms.slice(0, 2),
    ranks: [4],
  }),
);

const inHalves = {
  test: it,
  describe,
  name: 'half of the ranks in each of two processes',
  open: workers.open,
  membersOf,
  lacks: ['reserve'],
} as const;

executorSuite(drawnSuite({ ...inHalves, ranks: [3], kinds: ['all-reduce', 'broadcast', 'all-gather'] }));
executorSuite(drawnSuite({ ...inHalves, ranks: [4, 5], kinds: ['all-reduce', 'all-gather'] }));

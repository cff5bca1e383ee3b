import { executorSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { algorithms } from './algorithms.ts';
import { processGroups } from './process-groups.ts';

const transport = 'shared-memory';
const threads = await processGroups({ transport, threadsPerProcess: 2 });
const workers = await processGroups({ transport, by: 'joinTwoLevels', membersOf: (size) => Math.min(size, 2) });
afterAll(() => Promise.all([threads.close(), workers.close()]));

executorSuite({
  test: it,
  describe,
  name: 'two threads in each process',
  open: threads.open,
  algorithms: algorithms.slice(0, 2),
  ranks: [4],
});

const inHalves = { test: it, describe, name: 'half of the ranks in each of two processes', open: workers.open };

executorSuite({ ...inHalves, ranks: [3], kinds: ['all-reduce', 'broadcast', 'all-gather'] });
executorSuite({ ...inHalves, ranks: [4, 5], kinds: ['all-reduce', 'all-gather'] });

import { executorSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { algorithms } from './algorithms.ts';
import { processGroups } from './process-groups.ts';

const processes = await processGroups({ transport: 'tcp', isChecksummed: true });
afterAll(() => processes.close());

executorSuite({
  test: it,
  describe,
  name: 'processes over checksummed tcp',
  membersOf: (size) => size,
  lacks: ['reserve'],
  open: processes.open,
  // What differs from other TCP connections is below all algorithms.
  algorithms: algorithms.slice(0, 2),
  ranks: [3],
});

import { ring, ringAlgorithm } from '@coll/ring';
import { executorSuite, threadRanks } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { manyRanks } from '../../../tools/tests/drawn.ts';

const threads = threadRanks();
afterAll(() => threads.close());

executorSuite({
  test: it,
  describe,
  name: 'ThreadCommunicator',
  membersOf: (size) => size,
  open: threads.open,
  algorithms: [{ algorithm: ringAlgorithm(), source: { module: ring.module, export: 'ring' } }],
  ranks: manyRanks(),
});

import { NcclCommunicator } from '@coll/nccl';
import { controllerGroup, executorSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { blockingNoThread } from './blocking-no-thread.ts';
import { fourGpus } from './doubles.ts';

executorSuite({
  test: it,
  describe,
  name: 'NcclCommunicator in one process',
  membersOf: () => 1,
  open: blockingNoThread(controllerGroup((_, size) => NcclCommunicator.open(fourGpus.slice(0, size)))),
  ranks: [1, 2, 4],
});

import { NcclCommunicator } from '@coll/nccl';
import { controllerGroup, executorSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { blockingNoThread } from './blocking-no-thread.ts';
import { fourGpus, hasDoubles } from './doubles.ts';

executorSuite({
  test: it.runIf(hasDoubles),
  describe,
  name: 'NcclCommunicator in one process',
  open: blockingNoThread(controllerGroup((_, size) => NcclCommunicator.open(fourGpus.slice(0, size)))),
  ranks: [1, 2, 4],
});

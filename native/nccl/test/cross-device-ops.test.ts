import { nccl } from '@coll/nccl';
import { crossDeviceOpsSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { fourGpus, hasDoubles } from './doubles.ts';

crossDeviceOpsSuite({
  test: it.runIf(hasDoubles),
  describe,
  plugin: nccl,
  devices: fourGpus,
});

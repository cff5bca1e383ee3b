import { nccl } from '@coll/nccl';
import { crossDeviceOpsSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { fourGpus, hasDoubles } from './doubles.ts';

crossDeviceOpsSuite({
  test: (name, run) => it.runIf(hasDoubles)(name, run, 60_000),
  describe,
  plugin: nccl,
  devices: fourGpus,
});

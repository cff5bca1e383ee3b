import { nccl } from '@coll/nccl';
import { crossDeviceOpsSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { fourGpus } from './doubles.ts';

crossDeviceOpsSuite({
  test: it,
  describe,
  plugin: nccl,
  devices: fourGpus,
});

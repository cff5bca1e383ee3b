import { CollectiveAllReduce, collective, MultiWorkerAllReduce, multiWorker } from '@coll/multi-worker';
import { crossDeviceOpsSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { drawn } from '../../../tools/tests/drawn.ts';

const suites: readonly (() => void)[] = [
  () => crossDeviceOpsSuite({ test: it, describe, plugin: multiWorker, bitsIndependentOfPacking: true }),
  () => crossDeviceOpsSuite({ test: it, describe, plugin: collective, bitsIndependentOfPacking: true }),
  // Without workers all devices are one worker's, so that values may have any number of components.
  () =>
    crossDeviceOpsSuite({
      test: it,
      describe,
      name: 'MultiWorkerAllReduce by three entries',
      create: (packing, world) => {
        const options = { ...packing, allReduceSpec: 'pscpu:2:xring:9:pscpu/pscpu' };
        return new MultiWorkerAllReduce(undefined, undefined, options, world);
      },
    }),
  () =>
    crossDeviceOpsSuite({
      test: it,
      describe,
      name: 'CollectiveAllReduce around a ring',
      create: (packing, world) =>
        new CollectiveAllReduce(undefined, undefined, { ...packing, implementation: 'RING' }, world),
    }),
];

for (const declare of drawn('cross-device ops of several workers', suites)) declare();

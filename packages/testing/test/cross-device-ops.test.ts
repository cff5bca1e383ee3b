import { DirectAllReduce, direct } from '@coll/direct';
import { HierarchicalCopyAllReduce, hierarchicalCopy } from '@coll/hierarchical-copy';
import { ReductionToOneDevice, reductionToOne } from '@coll/reduction-to-one';
import { RingAllReduce, ring } from '@coll/ring';
import { crossDeviceOpsSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { drawn } from '../../../tools/tests/drawn.ts';

const suites: readonly (() => void)[] = [
  () => crossDeviceOpsSuite({ test: it, describe, plugin: ring }),
  () => crossDeviceOpsSuite({ test: it, describe, plugin: direct, bitsIndependentOfPacking: true }),
  () => crossDeviceOpsSuite({ test: it, describe, plugin: hierarchicalCopy, bitsIndependentOfPacking: true }),
  () =>
    crossDeviceOpsSuite({
      test: it,
      describe,
      plugin: reductionToOne,
      takesPacking: false,
      bitsIndependentOfPacking: true,
    }),
  ...[0, 1, 3].map((numPacks) => () => {
    crossDeviceOpsSuite({
      test: it,
      describe,
      name: `RingAllReduce in ${numPacks} packs`,
      create: (packing, world) => new RingAllReduce({ numPacks, ...packing }, world),
    });
  }),
  () =>
    crossDeviceOpsSuite({
      test: it,
      describe,
      name: 'RingAllReduce in 2 sub-chunks',
      create: (packing, world) => new RingAllReduce({ subChunks: 2, ...packing }, world),
    }),
  () =>
    crossDeviceOpsSuite({
      test: it,
      describe,
      name: 'HierarchicalCopyAllReduce in 3 packs',
      bitsIndependentOfPacking: true,
      create: (packing, world) => new HierarchicalCopyAllReduce({ numPacks: 3, ...packing }, world),
    }),
  () =>
    crossDeviceOpsSuite({
      test: it,
      describe,
      name: 'DirectAllReduce',
      bitsIndependentOfPacking: true,
      create: (packing, world) => new DirectAllReduce(packing, world),
    }),
  () =>
    crossDeviceOpsSuite({
      test: it,
      describe,
      name: 'ReductionToOneDevice on cpu:1',
      bitsIndependentOfPacking: true,
      create: (_, world) => new ReductionToOneDevice({ reduceToDevice: 'cpu:1' }, world),
    }),
];

for (const declare of drawn('cross-device ops', suites)) declare();

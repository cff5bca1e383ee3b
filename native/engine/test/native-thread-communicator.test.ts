import { jsEngine } from '@coll/core';
import { direct, directAlgorithm } from '@coll/direct';
import { hierarchicalCopy, hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
import { native } from '@coll/native';
import { reductionToOne, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ring, ringAlgorithm } from '@coll/ring';
import { executorSuite, threadRanks } from '@coll/testing';
import { afterAll, describe, expect, it } from 'vitest';

const threads = threadRanks({ engine: native, engineModule: new URL('../src/register.ts', import.meta.url).href });
afterAll(() => threads.close());

executorSuite({
  test: it,
  describe,
  name: 'NativeThreadCommunicator',
  open: threads.open,
  algorithms: [
    { algorithm: directAlgorithm, source: { module: direct.module, export: 'direct' } },
    { algorithm: ringAlgorithm(), source: { module: ring.module, export: 'ring' } },
    { algorithm: reductionToOneAlgorithm(), source: { module: reductionToOne.module, export: 'reductionToOne' } },
    { algorithm: hierarchicalCopyAlgorithm, source: { module: hierarchicalCopy.module, export: 'hierarchicalCopy' } },
  ],
  ranks: [1, 2, 3, 4, 7],
});

it('refuses two ranks in one thread', () => {
  const group = native.createGroup({ size: 2 });
  native.join(group, { rank: 0, algorithm: directAlgorithm });
  expect(() => native.join(group, { rank: 1, algorithm: directAlgorithm })).toThrow(
    /rank 1 cannot join in the thread of rank 0/,
  );
});

it('refuses a group of another engine', () => {
  const group = jsEngine.createGroup({ size: 2 });
  expect(() => native.join(group, { rank: 0, algorithm: directAlgorithm })).toThrow(/made by the js engine/);
});

import { type ReduceOp, tensor } from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { expect, it } from 'vitest';
import { reduceNonDistributed } from './reduce-non-distributed.js';

const reduced = (op: ReduceOp, value: unknown, replicas: number) =>
  reduceNonDistributed({ op, value, destinations: 'cpu:0', replicas, ops: async () => new ReductionToOneDevice() });

it.each(['MEAN', 'MIN', 'MAX'] as const)('reduceNonDistributed returns the value itself for %s', async (op) => {
  const value = Float32Array.of(1, 2);
  expect(await reduced(op, value, 2)).toBe(value);
});

it.each(['SUM', 'PRODUCT'] as const)('reduceNonDistributed refuses %s over two replicas, except for 0', async (op) => {
  await expect(reduced(op, 5, 2)).rejects.toMatchObject({
    ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'reduce' },
    message: expect.stringContaining(
      `A non-distributed value 5 cannot be reduced with the given reduce op ${op} over 2 replicas`,
    ),
  });
  expect(await reduced(op, 0, 2)).toBe(0);
  expect(await reduced(op, Int8Array.of(0, 0), 2)).toMatchObject({
    dtype: 'int8',
    shape: [2],
    data: Int8Array.of(0, 0),
  });
  await expect(reduced(op, Int8Array.of(0, 1), 2)).rejects.toThrow('cannot be reduced');
  expect(await reduced(op, tensor([3]), 1)).toMatchObject({ data: tensor([3]).data });
});

import { PerReplica, type Tensor, tensor, toNumbers } from '@coll/core';
import { expect, it } from 'vitest';
import { strategyOf } from '../../test/strategies.js';

const two = strategyOf(2);

async function reduced(op: 'sum' | 'mean', values: readonly (Tensor | Float32Array | Uint8Array)[]) {
  const { dtype, shape, ...total } = (await two.reduce(op, new PerReplica(values), 0)) as Tensor;
  return { dtype, shape, numbers: toNumbers({ ...total, dtype }) };
}

it.each([
  ['float16', 300, 256],
  ['float16', 60_000, 10],
  ['float16', 1, 33_000],
  ['bfloat16', 1, 257],
  ['uint8', 1, 512],
  ['int8', 1, 128],
  ['int16', 100, 512],
  ['int32', 2 ** 30, 3],
  ['int64', 2 ** 62, 2],
] as const)('averages %s values of %d, %d per replica, without overflow', async (dtype, number, count) => {
  const values = [0, 1].map(() => tensor(new Array<number>(count).fill(number), { dtype }));
  expect(await reduced('mean', values)).toMatchObject({ numbers: [number], shape: [] });
});

it('sums half types whose parts overflow, and rounds once', async () => {
  const halves = [
    [60_000, 60_000],
    [-60_000, -1000],
  ].map((numbers) => tensor(numbers, { dtype: 'float16' }));
  // 59,000 lies between two float16 numbers.
  expect(await reduced('sum', halves)).toEqual({ numbers: [59_008], dtype: 'float16', shape: [] });
  const ones = [[256, 1], [1]].map((numbers) => tensor(numbers, { dtype: 'bfloat16' }));
  expect(await reduced('sum', ones)).toMatchObject({ numbers: [258], dtype: 'bfloat16' });
});

it('sums float32 over all replicas in float64, and rounds once', async () => {
  const parts = [Float32Array.of(2 ** 24, 1), Float32Array.of(1)];
  expect(await reduced('sum', parts)).toMatchObject({ numbers: [2 ** 24 + 2], dtype: 'float32' });
});

it('wraps sums of integers around', async () => {
  const bytes = [Uint8Array.of(200, 100), Uint8Array.of(200)];
  expect(await reduced('sum', bytes)).toMatchObject({ numbers: [244], dtype: 'uint8' });
});

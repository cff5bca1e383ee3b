import assert from 'node:assert/strict';
import {
  type DType,
  IndexedSlices,
  InternalError,
  InvalidArgumentError,
  PerReplica,
  ReduceOp,
  type Tensor,
  tensor,
  ValueError,
} from '@coll/core';
import { assertRejects } from './assert-rejects.js';
import { assertEverywhere, like } from './assert-value.js';
import { combinedElements, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { assertRows, type Rows, slicesOn, sparseValue, usualRows, usualSum } from './sparse-values.js';
import { Unchanged } from './unchanged.js';

/** Tests of sparse values, alone and mixed with dense ones. */
export const sparseCases: OpsCases = {
  'concatenates slices and keeps duplicate indices': concatenates,
  'divides the values of slices for a mean': dividesValues,
  'converts indices to int64 if their dtypes differ': widensIndices,
  'sums dense and sparse components to a dense value': addsMixed,
  'keeps the order of dense and sparse values in a batch': keepsOrder,
  'supports only sum and mean of slices': refusesOtherOps,
  'refuses slices that differ in rows or dtype': refusesUnlike,
  'copies or moves a single sparse component': movesSingle,
};

const { SUM, MEAN } = ReduceOp;

async function concatenates(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const value = sparseValue(devices, usualRows);
  const unchanged = new Unchanged(value);
  for (const places of [devices, subject.devices(1), subject.devices(2, 1)]) {
    assertRows(`a sparse sum for ${places}`, await cross.reduce(SUM, value, places), places, usualSum);
  }
  assertRows('a sparse sum in place', await cross.reduce(SUM, value, value), devices, usualSum);
  unchanged.assert('a sparse sum');
}

async function dividesValues(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const values = usualSum.values.map((sum) => Math.fround(sum / 3));
  const mean = await cross.reduce(MEAN, sparseValue(devices, usualRows), devices);
  assertRows('a sparse mean', mean, devices, { ...usualSum, values });
  const integers = usualRows.map((rows): Rows => ({ ...rows, dtype: 'int32' }));
  const quotients = usualSum.values.map((sum) => sum / 3);
  const meanOfIntegers = await cross.reduce(MEAN, sparseValue(devices, integers), devices[0] as string);
  assertRows('a sparse mean of integers', meanOfIntegers, devices.slice(0, 1), {
    ...usualSum,
    values: quotients,
    dtype: 'float64',
  });
}

async function widensIndices(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const types = ['int32', 'int64', 'uint8'] as const;
  const rows = usualRows.map((each, replica): Rows => ({ ...each, indexDType: types[replica] as DType }));
  const sum = await cross.reduce(SUM, sparseValue(devices, rows), devices);
  assertRows('indices of several types', sum, devices, { ...usualSum, indexDType: 'int64' });
}

async function addsMixed(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3) as readonly [string, string, string];
  const dense = tensor(Float32Array.of(1, 1, 1, 1, 1, 1, 1, 1), { shape: [4, 2], device: devices[1] });
  const [first, , third] = sparseValue(devices, usualRows).values as readonly IndexedSlices[];
  const value = new PerReplica<IndexedSlices | Tensor>([first as IndexedSlices, dense, third as IndexedSlices]);
  const unchanged = new Unchanged(value);
  const numbers = [3 + 7 + 1, 4 + 9 + 1, 1, 1, 1, 1, 1 + 5 + 1, 2 + 6 + 1];
  const expected = like(tensor(Float32Array.from(numbers), { shape: [4, 2] }));
  for (const places of [devices, subject.devices(1)]) {
    assertEverywhere('dense and sparse components', await cross.reduce(SUM, value, places), places, expected);
  }
  const mean = like(
    tensor(
      Float32Array.from(numbers, (sum) => sum / 3),
      { shape: [4, 2] },
    ),
  );
  assertEverywhere('their mean', await cross.reduce(MEAN, value, value), devices, mean);
  unchanged.assert('dense and sparse components');
}

async function keepsOrder(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const sparse = sparseValue(devices, usualRows);
  const dense = [valueOn(devices), valueOn(devices, { dtype: 'int16', seed: 1 })] as const;
  for (const places of [devices, subject.devices(1)]) {
    const values = [sparse, dense[0], sparse, dense[1], sparse];
    const results = await cross.batchReduce(
      SUM,
      values.map((value) => [value, places] as const),
    );
    for (const index of [0, 2, 4]) assertRows(`result ${index}`, results[index], places, usualSum);
    dense.forEach((value, index) => {
      const elements = combinedElements(SUM, value.values);
      const expected = { dtype: value.primary.dtype, shape: [2, 3], elements };
      assertEverywhere(`result ${2 * index + 1}`, results[2 * index + 1], places, expected);
    });
  }
}

async function refusesOtherOps(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const value = sparseValue(devices, usualRows);
  for (const op of [ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT]) {
    await assertRejects(`${op} of slices`, cross.reduce(op, value, devices), ValueError);
    await assertRejects(`${op} of slices in a batch`, cross.batchReduce(op, [[value, devices]]), ValueError);
  }
}

async function refusesUnlike(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(2) as readonly [string, string];
  const [first] = usualRows as readonly [Rows];
  const wide = new IndexedSlices(
    tensor([1, 2, 3], { dtype: 'float32', shape: [1, 3], device: devices[1] }),
    tensor(Int32Array.of(0)),
  );
  const unlikeRows = new PerReplica([slicesOn(devices[0], first), wide]);
  await assertRejects('unlike rows', cross.reduce(SUM, unlikeRows, devices), InvalidArgumentError);
  const unlikeTypes = sparseValue(devices, [first, { ...first, dtype: 'float64' }]);
  await assertRejects('unlike dtypes', cross.reduce(SUM, unlikeTypes, devices), InternalError);
}

async function movesSingle(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const [here, there] = subject.devices(2) as readonly [string, string];
  const slices = slicesOn(here, usualSum);
  const copy = await cross.reduce('nonsense' as ReduceOp, slices, here);
  assert.notEqual(copy, slices, 'a single sparse component in place is copied');
  assertRows('the copy', copy, [here], usualSum);
  assertRows('a single sparse component, moved', await cross.reduce(SUM, slices, there), [there], usualSum);
}

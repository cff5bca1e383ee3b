import assert from 'node:assert/strict';
import { type DType, densify, IndexedSlices, PerReplica, ReduceOp, type Tensor, tensor, ValueError } from '@coll/core';
import { elementCount } from '@coll/core/plugin';
import { combiner, type Plain, plainValues, storedOf } from '../oracle/plain-arithmetic.js';
import { assertRejects } from './assert-rejects.js';
import { assertEverywhere, assertPlaced, assertSlices, assertTensor, like } from './assert-value.js';
import { combinedElements, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { assertRows, slicesOn, sparseValue, usualRows, usualSum } from './sparse-values.js';

/** Tests of sparse values with unusual shapes and dtypes, and with duplicate indices. */
export const sparseEdgeCases: OpsCases = {
  'returns slices that represent the sum of all components': standsForSum,
  'accepts slices without rows, of scalars, and of rows without elements': takesEmpty,
  'keeps indices of 64 bits': keepsLongIndices,
  'uses the dense shape of the first component': takesFirstShape,
  'sums rows with the same index with deduplicate': deduplicates,
  'refuses sparse components without a dense shape among dense ones': refusesMixed,
};

const { SUM, MEAN } = ReduceOp;

/**
 * Returns a function that generates pseudo-random whole numbers from 0 to `limit - 1`. The numbers
 * are equal in every run.
 */
function numbersFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const denseRows = 7;

/**
 * Makes random slices with few distinct indices, so that many are duplicates. Values are whole
 * numbers whose sums are exact in every dtype.
 */
function someSlices(
  device: string,
  next: (limit: number) => number,
  dtype: DType,
  row: readonly number[],
): IndexedSlices {
  const rows = next(9);
  const limit = dtype === 'bool' ? 2 : 8;
  const numbers = Array.from({ length: rows * elementCount(row) }, () => next(limit));
  const indices = Array.from({ length: rows }, () => next(denseRows));
  const values = tensor(numbers, { dtype, shape: [rows, ...row], device });
  return new IndexedSlices(values, tensor(indices, { dtype: 'int32', device }), [denseRows, ...row]);
}

/** Computes the elements of the dense sum of sparse components by adding values in order. */
function plainSum(components: readonly IndexedSlices[], rowLength: number): Plain[] {
  const { dtype } = components[0] as IndexedSlices;
  const add = combiner(dtype, 'sum');
  const sums = new Array<Plain>(denseRows * rowLength).fill(dtype === 'int64' ? 0n : 0);
  for (const { values, indices } of components) {
    for (const [position, element] of plainValues(dtype, values.data).entries()) {
      const index = Number(indices.data[Math.floor(position / rowLength)]);
      const place = index * rowLength + (position % rowLength);
      sums[place] = add(sums[place] as Plain, element);
    }
  }
  return sums.map((sum) => storedOf(dtype, sum));
}

async function standsForSum(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const next = numbersFrom(7);
  for (const count of subject.replicas) {
    for (const dtype of ['float32', 'float64', 'float16', 'bfloat16', 'int8', 'int64', 'bool'] as const) {
      for (const row of [[], [2], [3, 1]]) {
        const devices = subject.devices(count);
        const value = new PerReplica(devices.map((device) => someSlices(device, next, dtype, row)));
        const title = `the sparse sum of ${dtype} rows of shape [${row}] over ${count}`;
        const expected = { dtype, shape: [denseRows, ...row], elements: plainSum(value.values, elementCount(row)) };
        for (const deduplicate of [false, true]) {
          const sum = await cross.reduce(SUM, value, devices, { deduplicate });
          for (const component of assertPlaced(title, sum, devices)) {
            assertTensor(`${title}, made dense`, densify(component as IndexedSlices), expected);
          }
        }
      }
    }
  }
}

async function takesEmpty(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const none = { indices: [], values: [] };
  assertRows('no rows', await cross.reduce(MEAN, sparseValue(devices, [none, none, none]), devices), devices, none);
  const shapes = [
    [1, [1, 2, 3]],
    [0, []],
  ] as const;
  for (const [rowLength, numbers] of shapes) {
    const row = rowLength === 0 ? [0] : [];
    const parts = devices.map((device, replica) => {
      const values = tensor(rowLength === 0 ? [] : [replica + 1], { dtype: 'float32', shape: [1, ...row], device });
      return new IndexedSlices(values, tensor(Int32Array.of(replica), { device }), [9, ...row]);
    });
    const sum = await cross.reduce(SUM, new PerReplica(parts), devices[0] as string);
    const values = tensor(numbers, { dtype: 'float32', shape: [3, ...row] });
    assertSlices(`rows of shape [${row}]`, sum, like(values), like(tensor(Int32Array.of(0, 1, 2))));
  }
}

async function keepsLongIndices(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(2);
  const indices = [
    BigInt64Array.of(2n ** 53n + 1n, -(2n ** 62n)),
    BigInt64Array.of(2n ** 53n, 2n ** 53n + 1n),
  ] as const;
  const parts = devices.map((device, replica) => {
    const values = tensor(Float32Array.of(1, 2), { device });
    return new IndexedSlices(values, tensor(indices[replica] as BigInt64Array, { device }));
  });
  const value = new PerReplica(parts);
  const joined = BigInt64Array.of(2n ** 53n + 1n, -(2n ** 62n), 2n ** 53n, 2n ** 53n + 1n);
  const values = tensor(Float32Array.of(1, 2, 1, 2));
  const sum = await cross.reduce(SUM, value, devices[0] as string);
  assertSlices('indices of 64 bits', sum, like(values), like(tensor(joined)));
  const unique = await cross.reduce(SUM, value, devices[0] as string, { deduplicate: true });
  const ascending = tensor(BigInt64Array.of(-(2n ** 62n), 2n ** 53n, 2n ** 53n + 1n));
  assertSlices('each of them once', unique, like(tensor(Float32Array.of(2, 1, 3))), like(ascending));
}

async function takesFirstShape(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(2) as readonly [string, string];
  const open = (device: string) =>
    new IndexedSlices(
      tensor([1, 2], { dtype: 'float32', shape: [1, 2], device }),
      tensor(Int32Array.of(0), { device }),
    );
  const shaped = (device: string) => slicesOn(device, { indices: [1], values: [1, 2] });
  const shapeOf = async (...parts: readonly IndexedSlices[]) =>
    ((await cross.reduce(SUM, new PerReplica(parts), devices[0])) as IndexedSlices).denseShape;
  assert.deepEqual(await shapeOf(shaped(devices[0]), open(devices[1])), [4, 2], 'the dense shape of the first');
  assert.equal(await shapeOf(open(devices[0]), shaped(devices[1])), undefined, 'the open dense shape of the first');
}

async function deduplicates(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const options = { deduplicate: true };
  const unique = { indices: [0, 3], values: [10, 13, 6, 8] };
  const value = sparseValue(devices, usualRows);
  for (const places of [devices, subject.devices(1), subject.devices(2, 1)]) {
    const sum = await cross.reduce(SUM, value, places, options);
    assertRows(`each index once for ${places}`, sum, places, unique);
    const dense = valueOn(devices);
    const [mean, denseSum] = [
      await cross.batchReduce(MEAN, [[value, places]], options),
      await cross.batchReduce(
        SUM,
        [
          [dense, places],
          [value, places],
        ],
        options,
      ),
    ];
    const quotients = unique.values.map((number) => Math.fround(number / 3));
    assertRows('a mean, each index once', mean[0], places, { ...unique, values: quotients });
    const elements = combinedElements(SUM, dense.values);
    assertEverywhere('a dense value in the same batch', denseSum[0], places, {
      dtype: 'float32',
      shape: [2, 3],
      elements,
    });
    assertRows('a sparse value in a batch with dense values', denseSum[1], places, unique);
  }
  const [here, there] = devices as [string, string];
  const single = slicesOn(here, usualSum);
  assertRows('a single component', await cross.reduce(SUM, single, here, options), [here], unique);
  assertRows(
    'a single component, moved to another device',
    await cross.reduce(SUM, single, there, options),
    [there],
    unique,
  );
  const [alone] = await cross.batchReduce(SUM, [[single, here]], options);
  assertRows('a single component in a batch', alone, [here], unique);
  const mixed = new PerReplica<IndexedSlices | Tensor>([single, densify(slicesOn(there, usualSum))]);
  const sum = await cross.reduce(SUM, mixed, here, options);
  const twice = tensor(Float32Array.of(20, 26, 0, 0, 0, 0, 12, 16), { shape: [4, 2] });
  assertTensor('dense and sparse components', sum, like(twice));
  await assertRejects('a min', cross.reduce(ReduceOp.MIN, value, devices, options), ValueError, 'ERR_COLL_REFUSED');
  const wrong = cross.reduce(SUM, value, devices, { deduplicate: 1 as never });
  await assertRejects('an option that is not a boolean', wrong, ValueError);
}

async function refusesMixed(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(2) as readonly [string, string];
  const dense = tensor(new Float32Array(8), { shape: [4, 2], device: devices[0] });
  const rows = tensor(new Float32Array(2), { shape: [1, 2], device: devices[1] });
  const at = (index: number, denseShape?: number[]) => new IndexedSlices(rows, Int32Array.of(index), denseShape);
  for (const odd of [at(0), at(4, [4, 2]), at(-1, [4, 2])]) {
    const value = new PerReplica<IndexedSlices | Tensor>([dense, odd]);
    const error = await assertRejects('slices among dense values', cross.reduce(SUM, value, devices), ValueError);
    assert.equal(error.rank, 1, 'the error names the replica');
    await assertRejects('slices among dense values in a batch', cross.batchReduce(SUM, [[value, devices]]), ValueError);
  }
}

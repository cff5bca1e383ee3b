import assert from 'node:assert/strict';
import {
  AssertionError,
  type DType,
  dtypes,
  IndexedSlices,
  type PerReplica,
  type PossiblyMirrored,
  ReduceOp,
  type Tensor,
  tensor,
  type ValueDestinationPair,
  ValueError,
} from '@coll/core';
import { assertRejects } from './assert-rejects.js';
import { assertEverywhere } from './assert-value.js';
import { combinedElements, componentOn, meanDTypes, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { Unchanged } from './unchanged.js';

/** Tests of `batchReduce` with many values. */
export const batchCases: OpsCases = {
  'returns an empty list for an empty batch': answersEmpty,
  'keeps the order of a batch of mixed dtypes and shapes': keepsOrder,
  'computes the mean of every value of a batch': dividesBatch,
  'accepts any iterable of pairs': takesIterables,
  'refuses a batch that is not a list of pairs': refusesNoPairs,
  'returns single components themselves': handsBackSingles,
  'reduces values with different numbers of components': reducesDifferentCounts,
  'reduces every value to its own destinations': reducesToOwnDestinations,
  'reduces one value twice in a batch': reducesTwice,
  'matches devices listed in another order': keepsDeviceOrder,
};

const { SUM, MEAN } = ReduceOp;

function assertSum(
  title: string,
  result: PossiblyMirrored | undefined,
  value: PerReplica<Tensor>,
  places = value.devices,
) {
  const { dtype, shape } = value.primary;
  assertEverywhere(title, result, places, { dtype, shape, elements: combinedElements(SUM, value.values) });
}

async function answersEmpty(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  assert.deepEqual(await cross.batchReduce(SUM, []), []);
  assert.deepEqual(await cross.batchReduce('nonsense' as ReduceOp, new Set<ValueDestinationPair>()), []);
}

/** Two values of each dtype, of various shapes, some of them empty. */
function mixedValues(devices: readonly string[], op: ReduceOp, which: readonly DType[] = dtypes): PerReplica<Tensor>[] {
  const shapes: readonly (readonly number[])[] = [[2, 3], [], [7], [0], [1, 1]];
  return [...which, ...which].map((dtype, seed) => {
    return valueOn(devices, { dtype, op, seed, shape: shapes[seed % shapes.length] as readonly number[] });
  });
}

async function keepsOrder(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  for (const count of subject.replicas.filter((replicas) => replicas > 1)) {
    const values = mixedValues(subject.devices(count), SUM);
    const unchanged = new Unchanged(...values);
    const results = await cross.batchReduce(
      SUM,
      values.map((value) => [value, value] as const),
    );
    assert.equal(results.length, values.length, 'one result per pair');
    values.forEach((value, index) => {
      assertSum(`result ${index}, ${value.primary.dtype}`, results[index], value);
    });
    unchanged.assert('a batch');
  }
}

async function dividesBatch(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(subject.most);
  const values = mixedValues(
    devices,
    MEAN,
    dtypes.filter((dtype) => dtype !== 'bool'),
  );
  const results = await cross.batchReduce(
    MEAN,
    values.map((value) => [value, value] as const),
  );
  values.forEach((value, index) => {
    const { dtype, shape } = value.primary;
    const elements = combinedElements(MEAN, value.values);
    const expected = { dtype: meanDTypes[dtype] as DType, shape, elements };
    assertEverywhere(`mean ${index}, of ${dtype}`, results[index], devices, expected);
  });
}

async function takesIterables(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  const pairs: readonly ValueDestinationPair[] = [
    [value, value],
    [value, subject.devices(2)],
  ];
  const generated = (function* () {
    yield* pairs;
  })();
  for (const iterable of [pairs, new Set(pairs), new Map([[value, value.devices]]), generated]) {
    const results = await cross.batchReduce(SUM, iterable as Iterable<ValueDestinationPair>);
    for (const result of results) assertSum('a batch of another kind', result, value);
  }
}

async function refusesNoPairs(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  const wrong: readonly unknown[] = [
    undefined,
    null,
    7,
    'ab',
    {},
    value,
    [value],
    [[value]],
    [[value, value, value]],
    [{ 0: value, 1: value, length: 2 }],
    ['ab'],
    [[value, value], undefined],
  ];
  for (const pairs of wrong as readonly Iterable<ValueDestinationPair>[]) {
    await assertRejects('a batch that is not a list of pairs', cross.batchReduce(SUM, pairs), ValueError);
  }
}

async function handsBackSingles(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const device = subject.device(1);
  const values = [componentOn(device, 0), componentOn(device, 1, { dtype: 'int8' }), slicesOn(device)];
  const results = await cross.batchReduce(
    'nonsense' as ReduceOp,
    values.map((value) => [value, device] as const),
  );
  assert.equal(results.length, values.length, 'one result per pair');
  values.forEach((value, index) => {
    assert.equal(results[index], value, `result ${index} must be the component itself, without a copy`);
  });
}

function slicesOn(device: string): IndexedSlices {
  return new IndexedSlices(tensor([1, 2], { device }), tensor(Int32Array.of(0, 1), { device }));
}

async function reducesDifferentCounts(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const values = [3, 1, 2, 3].map((count, seed) => valueOn(subject.devices(count), { seed }));
  const results = await cross.batchReduce(
    SUM,
    values.map((value) => [value, value] as const),
  );
  values.forEach((value, index) => {
    assertSum(`result ${index}, of ${value.values.length} components`, results[index], value);
  });
}

async function reducesToOwnDestinations(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const places = [devices, subject.devices(1), subject.devices(2, 1), devices, subject.devices(1, 2)];
  const values = places.map((_, seed) => valueOn(devices, { seed, dtype: seed % 2 === 0 ? 'float32' : 'int32' }));
  const pairs = values.map((value, index) => [value, places[index] as readonly string[]] as const);
  const unchanged = new Unchanged(...values);
  const results = await cross.batchReduce(SUM, pairs);
  values.forEach((value, index) => {
    assertSum(`result ${index}`, results[index], value, places[index]);
  });
  unchanged.assert('a batch for several destinations');
}

async function reducesTwice(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(subject.most));
  const pair = [value, value] as const;
  for (const result of await cross.batchReduce(SUM, [pair, pair, pair]))
    assertSum('a value in a batch twice', result, value);
}

// Ops may require that all values of a batch list their devices in the same order; they must then
// throw an AssertionError.
async function keepsDeviceOrder(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const values = [valueOn(devices), valueOn(devices.toReversed(), { seed: 1 })];
  const pairs = values.map((value) => [value, value] as const);
  const outcome = await cross.batchReduce(SUM, pairs).catch((error: unknown) => error);
  if (outcome instanceof AssertionError) return;
  if (!Array.isArray(outcome)) throw outcome;
  values.forEach((value, index) => {
    assertSum(`result ${index}`, outcome[index], value);
  });
}

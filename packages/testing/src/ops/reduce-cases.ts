import assert from 'node:assert/strict';
import {
  type Destinations,
  type DType,
  dtypes,
  IndexedSlices,
  Mirrored,
  ReduceOp,
  type Tensor,
  tensor,
  tensorSymbol,
  ValueError,
} from '@coll/core';
import { reduceOps as ops } from '@coll/core/plugin';
import { assertRejects } from './assert-rejects.js';
import { assertEverywhere, assertPlaced, assertSeparate, assertTensor, like } from './assert-value.js';
import { combinedElements, componentOn, meanDTypes, type ValueRequest, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { Unchanged } from './unchanged.js';

/** Tests of `reduce` with one value. */
export const reduceCases: OpsCases = {
  'reduces every dtype with every op': reducesEveryDType,
  'refuses the mean of bool': hasNoMeanOfBool,
  'keeps NaN, infinities and -0': keepsSpecialValues,
  'rounds half types once': roundsHalvesOnce,
  'reduces scalars, empty tensors and any shape': reducesEveryShape,
  'reduces to every kind of destination': reducesToDestinations,
  'copies a single component that is in place, whatever the op': copiesSingle,
  'moves a single component to another device': movesSingle,
  'accepts tensor-like values': takesStandIns,
  'recognises devices by all their names': knowsDeviceNames,
};

async function reduceEverywhere(subject: OpsSubject, op: ReduceOp, request: ValueRequest): Promise<void> {
  await using cross = await subject.create();
  const { dtype = 'float32', shape = [2, 3] } = request;
  for (const count of subject.replicas) {
    const devices = subject.devices(count);
    const value = valueOn(devices, { ...request, op });
    const resultDType = op === ReduceOp.MEAN ? (meanDTypes[dtype] as DType) : dtype;
    const expected = { dtype: resultDType, shape, elements: combinedElements(op, value.values) };
    const unchanged = new Unchanged(value);
    const title = `${op} of ${count} ${dtype} components of shape [${shape}]`;
    const result = await cross.reduce(op, value, value);
    // A single component that is already in place is copied unchanged, even by a mean.
    const isCopied = count === 1;
    assertEverywhere(title, result, devices, isCopied ? like(value.primary) : expected);
    assertSeparate(title, [...value.values, ...(assertPlaced(title, result, devices) as Tensor[])]);
    const moved = await cross.reduce(op, value, subject.device(count - 1));
    assertEverywhere(
      `${title} on one device`,
      moved,
      [subject.device(count - 1)],
      isCopied ? like(value.primary) : expected,
    );
    unchanged.assert(title);
  }
}

async function reducesEveryDType(subject: OpsSubject): Promise<void> {
  for (const op of ops) {
    for (const dtype of dtypes) {
      if (op !== ReduceOp.MEAN || dtype !== 'bool') await reduceEverywhere(subject, op, { dtype });
    }
  }
}

async function hasNoMeanOfBool(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2), { dtype: 'bool' });
  const unchanged = new Unchanged(value);
  for (const destinations of [value, subject.device(0)]) {
    await assertRejects('the mean of bool', cross.reduce(ReduceOp.MEAN, value, destinations), ValueError);
  }
  unchanged.assert('the mean of bool');
}

async function keepsSpecialValues(subject: OpsSubject): Promise<void> {
  for (const op of ops) {
    for (const dtype of ['float16', 'bfloat16', 'float32', 'float64', 'int8', 'uint64'] as const) {
      await reduceEverywhere(subject, op, { dtype, shape: [110], flavour: 'special whole' });
    }
  }
}

// The intermediate sum 2048 + 1 fits float32, but not float16. If each addition were rounded to
// float16, the ones would be lost.
async function roundsHalvesOnce(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const value = (numbers: readonly number[], dtype: DType) =>
    new Mirrored(devices.map((device, index) => tensor([numbers[index] as number], { dtype, device })));
  for (const [dtype, large] of [
    ['float16', 2048],
    ['bfloat16', 256],
  ] as const) {
    const sum = await cross.reduce(ReduceOp.SUM, value([large, 1, 1], dtype), subject.device(0));
    assertTensor(`${dtype} ${large} + 1 + 1`, sum, like(tensor([large + 2], { dtype })));
    const mean = await cross.reduce(ReduceOp.MEAN, value([large, 1, -large], dtype), subject.device(0));
    assertTensor(`${dtype} (${large} + 1 - ${large}) / 3`, mean, like(tensor([1 / 3], { dtype })));
  }
}

async function reducesEveryShape(subject: OpsSubject): Promise<void> {
  for (const shape of [[], [0], [3, 0, 2], [1], [7], [1009], [2, 1, 3, 1]]) {
    for (const op of [ReduceOp.SUM, ReduceOp.MEAN]) await reduceEverywhere(subject, op, { shape });
  }
}

async function reducesToDestinations(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const value = valueOn(devices, { seed: 1 });
  const [first, second, third] = devices as readonly [string, string, string];
  const slices = new IndexedSlices(tensor([1], { device: second, shape: [1, 1] }), tensor(Int32Array.of(0)));
  const destinations: readonly (readonly [Destinations, readonly string[]])[] = [
    [first, [first]],
    [third, [third]],
    [[second], [second]],
    [
      [first, second],
      [first, second],
    ],
    [
      [third, first, second],
      [third, first, second],
    ],
    [value, devices],
    [valueOn(subject.devices(2, 1)), [second, third]],
    [new Mirrored(valueOn(devices, { seed: 2 }).values), devices],
    [componentOn(second, 0), [second]],
    [slices, [second]],
  ];
  const expected = { dtype: 'float32', shape: [2, 3], elements: combinedElements('SUM', value.values) } as const;
  for (const [destination, places] of destinations) {
    const unchanged = new Unchanged(value, destination);
    const result = await cross.reduce(ReduceOp.SUM, value, destination);
    assertEverywhere(`a sum for ${places}`, result, places, expected);
    unchanged.assert(`a sum for ${places}`);
  }
}

async function copiesSingle(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const device = subject.device(1);
  const value = valueOn([device], { dtype: 'int32' });
  for (const op of [...ops, 'nonsense' as ReduceOp]) {
    for (const destination of [device, [device], value, value.primary]) {
      const result = await cross.reduce(op, value, destination);
      assertTensor(`a single component, ${op}`, result, like(value.primary), device);
      assertSeparate(`a single component, ${op}`, [value.primary, result as Tensor]);
    }
  }
}

async function movesSingle(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = componentOn(subject.device(0), 0, { dtype: 'int32' });
  const sum = await cross.reduce(ReduceOp.SUM, value, subject.device(1));
  assertTensor('a single component, moved', sum, like(value), subject.device(1));
  const numbers = Array.from(value.data as Int32Array);
  const mean = await cross.reduce(ReduceOp.MEAN, value, subject.devices(2));
  assertEverywhere('the mean of a single component, moved', mean, subject.devices(2), {
    ...like(value),
    dtype: 'float64',
    elements: numbers,
  });
  await assertRejects(
    'a single component, moved with an unknown op',
    cross.reduce('nonsense' as ReduceOp, value, subject.device(1)),
    ValueError,
  );
}

async function takesStandIns(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const device = subject.device(0);
  const plain = Float32Array.of(1, 2);
  const carrier = { [tensorSymbol]: () => tensor(plain, { device }) };
  for (const value of [plain, carrier, tensor(plain, { device }), new Mirrored([tensor(plain, { device })])]) {
    const result = await cross.reduce(ReduceOp.SUM, value, device);
    assertTensor('an object that carries a tensor', result, like(tensor(plain)), device);
  }
  assertTensor('a number', await cross.reduce(ReduceOp.SUM, 3, device), like(tensor(3)), device);
  const carriers = new Mirrored(
    subject.devices(2).map((at) => ({ [tensorSymbol]: () => tensor(plain, { device: at }) })),
  );
  const sum = await cross.reduce(ReduceOp.SUM, carriers, subject.devices(2));
  assertEverywhere('a value of carriers', sum, subject.devices(2), like(tensor(Float32Array.of(2, 4))));
}

async function knowsDeviceNames(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(['cpu:0', '/CPU:1']);
  const names = ['/job:localhost/replica:0/task:0/device:CPU:1', '/cpu:0'];
  const result = await cross.reduce(ReduceOp.SUM, value, names);
  const elements = combinedElements(ReduceOp.SUM, value.values);
  assertEverywhere('other names of the same devices', result, names, { dtype: 'float32', shape: [2, 3], elements });
  assert.equal(assertPlaced('other names of the same devices', result, names).length, 2);
}

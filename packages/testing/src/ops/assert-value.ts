import assert from 'node:assert/strict';
import { DistributedValues, type DType, IndexedSlices, isTensor, Mirrored, type Tensor, type Value } from '@coll/core';
import { sameDevice } from '@coll/core/plugin';
import { type Plain, plainOf, sameElement } from '../oracle/plain-arithmetic.js';

export interface ExpectedTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly elements: readonly Plain[];
}

/** Makes the expectation that a result equals this tensor. */
export function like({ dtype, shape, data }: Tensor): ExpectedTensor {
  return { dtype, shape, elements: Array.from(data as Iterable<Plain>) };
}

/** Fails unless a result is a tensor with these elements and, if given, on this device. */
export function assertTensor(title: string, result: unknown, expected: ExpectedTensor, device?: string): void {
  assert.ok(isTensor(result), `${title} must be a tensor, not ${nameOfKind(result)}`);
  const { dtype, shape, elements } = expected;
  assert.equal(result.dtype, dtype, `${title}: dtype`);
  assert.deepEqual([...result.shape], [...shape], `${title}: shape`);
  assert.equal(result.data.length, elements.length, `${title}: number of elements`);
  const odd = elements.findIndex((element, index) => !sameElement(dtype, result.data[index], element));
  const textOf = (element: Plain | undefined) => (element === undefined ? 'nothing' : String(plainOf(dtype, element)));
  const found = `element ${odd} is ${textOf(result.data[odd])}, must be ${textOf(elements[odd])}`;
  assert.ok(odd < 0, `${title}: ${found}`);
  if (device !== undefined) assertDevice(title, result.device, device);
}

/**
 * Fails unless a result has a component on each of these devices, in this order: a single value for
 * one device, or a `Mirrored` for several. Returns the components.
 */
export function assertPlaced(title: string, result: unknown, devices: readonly string[]): readonly Value[] {
  if (devices.length === 1) {
    assert.ok(!(result instanceof DistributedValues), `${title} is for one device, so that it must be bare`);
    assertDevice(title, (result as Value).device, devices[0] as string);
    return [result as Value];
  }
  assert.ok(result instanceof Mirrored, `${title} is for several devices, so that it must be Mirrored`);
  const { values } = result as Mirrored<Value>;
  assert.equal(values.length, devices.length, `${title}: number of components`);
  for (const [place, { device }] of values.entries())
    assertDevice(`${title}: ${place}`, device, devices[place] as string);
  return values;
}

/**
 * Fails unless a result has these elements on each of these devices, in separate memory for each
 * device.
 */
export function assertEverywhere(
  title: string,
  result: unknown,
  devices: readonly string[],
  expected: ExpectedTensor,
): void {
  const components = assertPlaced(title, result, devices);
  for (const component of components) assertTensor(`${title} on ${component.device}`, component, expected);
  assertSeparate(title, components as readonly Tensor[]);
}

/** Fails if tensors overlap in memory. */
export function assertSeparate(title: string, tensors: readonly Tensor[]): void {
  const ranges = tensors.map(({ data }) => ({ buffer: data.buffer, begin: data.byteOffset, end: endOf(data) }));
  ranges.forEach((one, index) => {
    const other = ranges.find(({ buffer, begin, end }, position) => {
      return position > index && buffer === one.buffer && begin < one.end && one.begin < end;
    });
    assert.ok(!other, `${title}: two tensors share memory`);
  });
}

/** Fails unless a result is `IndexedSlices` with these values and indices. */
export function assertSlices(title: string, result: unknown, values: ExpectedTensor, indices: ExpectedTensor): void {
  assert.ok(result instanceof IndexedSlices, `${title} must be IndexedSlices, not ${nameOfKind(result)}`);
  assertTensor(`${title}: values`, result.values, values);
  assertTensor(`${title}: indices`, result.indices, indices);
}

function assertDevice(title: string, found: string, expected: string): void {
  assert.ok(sameDevice(found, expected), `${title} is on "${found}", must be on ${expected}`);
}

function endOf({ byteOffset, byteLength }: Tensor['data']): number {
  return byteOffset + byteLength;
}

function nameOfKind(value: unknown): string {
  return Object(value).constructor?.name ?? typeof value;
}

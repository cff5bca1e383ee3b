import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { type DType, dtypes, type TypedArray } from './dtype.js';
import {
  asTensor,
  copyElements,
  copyTo,
  type DeviceMemory,
  elementCount,
  isTensor,
  isTensorLike,
  overlaps,
  reshape,
  sameShape,
  type Tensor,
  type TensorCarrier,
  tensor,
  tensorSymbol,
  validateTensor,
  zeros,
} from './tensor.js';

describe('tensor()', () => {
  it('wraps a typed array with its natural dtype, one dimension and no device', () => {
    const data = new Float32Array([1, 2, 3]);
    const made = tensor(data);
    expect(made).toEqual({ data, dtype: 'float32', shape: [3], device: '' });
    expect(made.data).toBe(data);
  });

  it('accepts dtype, shape and device', () => {
    const data = new Uint16Array(6);
    expect(tensor(data, { dtype: 'bfloat16', shape: [2, 3], device: 'cpu:1' })).toEqual({
      data,
      dtype: 'bfloat16',
      shape: [2, 3],
      device: 'cpu:1',
    });
  });

  it('returns a float64 scalar for a number, and float64 for a list of numbers', () => {
    expect(tensor(5)).toEqual({ data: new Float64Array([5]), dtype: 'float64', shape: [], device: '' });
    expect(tensor([1, 2])).toEqual({ data: new Float64Array([1, 2]), dtype: 'float64', shape: [2], device: '' });
    expect(tensor([])).toEqual({ data: new Float64Array(), dtype: 'float64', shape: [0], device: '' });
  });

  it('encodes numbers in the requested dtype', () => {
    expect(tensor([1, -2], { dtype: 'float16' }).data).toEqual(new Uint16Array([0x3c00, 0xc000]));
    expect(tensor([1, -2], { dtype: 'int64' }).data).toEqual(new BigInt64Array([1n, -2n]));
    expect(tensor([0, 3], { dtype: 'bool' }).data).toEqual(new Uint8Array([0, 1]));
    expect(tensor(7, { dtype: 'int8', shape: [1] }).shape).toEqual([1]);
  });

  it('reads Uint8ClampedArray and Float16Array through a plain array over the same memory', () => {
    const clamped = new Uint8ClampedArray(new ArrayBuffer(8), 2, 3);
    const bytes = tensor(clamped);
    expect([bytes.dtype, bytes.data.constructor, bytes.data.buffer, bytes.data.byteOffset, bytes.data.length]).toEqual([
      'uint8',
      Uint8Array,
      clamped.buffer,
      2,
      3,
    ]);
    const halves = new Uint16Array(new ArrayBuffer(8), 2, 3);
    Object.setPrototypeOf(
      halves,
      Object.create(Uint16Array.prototype, { [Symbol.toStringTag]: { value: 'Float16Array' } }),
    );
    expect(tensor(halves)).toEqual({ data: new Uint16Array(3), dtype: 'float16', shape: [3], device: '' });
    expect(Object.getPrototypeOf(tensor(halves).data)).toBe(Uint16Array.prototype);
  });

  it.each([
    [
      'memory of another type',
      new Float32Array(2),
      { dtype: 'int32' },
      'ERR_COLL_BUFFER',
      'the data of a int32 tensor must be a Int32Array, got',
    ],
    [
      'half types in an array other than a Uint16Array',
      new Float32Array(2),
      { dtype: 'float16' },
      'ERR_COLL_BUFFER',
      'float16',
    ],
    [
      'a DataView for half types',
      new DataView(new ArrayBuffer(4)),
      { dtype: 'float16' },
      'ERR_COLL_BUFFER',
      'the data of a float16 tensor must be a Uint16Array, got',
    ],
    ['a DataView', new DataView(new ArrayBuffer(4)), {}, 'ERR_COLL_BUFFER', 'a DataView cannot be used as a tensor'],
    ['a shape of another size', new Float32Array(5), { shape: [2, 3] }, 'ERR_COLL_VALUE', 'needs 6 elements'],
    ['a negative dimension', new Float32Array(1), { shape: [-1] }, 'ERR_COLL_VALUE', 'a shape must be a list of'],
    ['a fractional dimension', new Float32Array(1), { shape: [0.5, 2] }, 'ERR_COLL_VALUE', 'a shape must be a list of'],
    ['a shape that is not a list', new Float32Array(1), { shape: 1 }, 'ERR_COLL_VALUE', 'a shape must be a list of'],
    ['an unknown dtype', new Float32Array(1), { dtype: 'float' }, 'ERR_COLL_VALUE', 'unknown dtype "float"'],
    ['an unknown dtype for numbers', [1], { dtype: 'float' }, 'ERR_COLL_VALUE', 'unknown dtype "float"'],
    ['a device that is not a string', [1], { device: 0 }, 'ERR_COLL_DEVICE', 'a device must be a string'],
    ['text', 'abc', {}, 'ERR_COLL_VALUE', 'from a typed array or from numbers, got "abc"'],
    ['a list of lists', [[1], [2]], {}, 'ERR_COLL_VALUE', 'from a typed array or from numbers'],
    ['null', null, {}, 'ERR_COLL_VALUE', 'from a typed array or from numbers'],
  ])('refuses %s', (_, data, options, code, message) => {
    expect(thrown(() => tensor(data as never, options as never))).toMatchObject({
      name: 'ValueError',
      code,
      message: expect.stringContaining(message),
    });
  });

  it('refuses more elements than kernels can address', () => {
    expect(thrown(() => tensor(new Uint8Array(2 ** 31)))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_BUFFER',
      message: 'a tensor must have at most 2147483647 elements, got 2147483648: split it',
    });
  });

  it('refuses a detached buffer', () => {
    const data = new Float32Array(4);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    expect(thrown(() => tensor(data))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_BUFFER',
      message: expect.stringContaining('was detached'),
      cause: expect.any(TypeError),
    });
  });

  it.each([Float32Array, BigInt64Array, Uint8ClampedArray])('refuses a %o outside of its buffer', (TypedArray) => {
    const buffer = new ArrayBuffer(32, { maxByteLength: 32 } as never) as ArrayBuffer & { resize(to: number): void };
    const views = [new TypedArray(buffer, 8, 1), new TypedArray(buffer, 8)];
    const empty = new TypedArray(buffer, 8, 0);
    buffer.resize(8);
    expect(tensor(empty).shape).toEqual([0]);
    expect(asTensor(empty).shape).toEqual([0]);
    buffer.resize(4);
    for (const view of [...views, empty])
      for (const door of [() => tensor(view), () => asTensor(view)])
        expect(thrown(door)).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER' });
  });
});

describe('zeros()', () => {
  it.each(dtypes)('allocates new memory for %s', (dtype) => {
    const made = zeros(dtype, [2, 2], 'cpu:1');
    expect({ dtype: made.dtype, shape: made.shape, device: made.device }).toEqual({
      dtype,
      shape: [2, 2],
      device: 'cpu:1',
    });
    expect(Array.from(made.data, Number)).toEqual([0, 0, 0, 0]);
  });

  it('returns scalars and empty tensors', () => {
    expect([zeros('int8', []).data.length, zeros('int8', [3, 0]).data.length]).toEqual([1, 0]);
  });

  it.each([[[-1]], [[1.5]], [[Number.NaN]], ['2']])('refuses the shape %o', (shape) => {
    expect(thrown(() => zeros('float32', shape as never))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
  });
});

describe('asTensor', () => {
  const made = tensor(new Float32Array(2), { device: 'cpu:0' });
  const carrier = (value: Tensor | TypedArray) => ({ [tensorSymbol]: () => value });

  it('returns tensors unchanged, and converts typed arrays and numbers like tensor()', () => {
    expect(asTensor(made)).toBe(made);
    expect(asTensor(new Int8Array(3))).toEqual(tensor(new Int8Array(3)));
    expect(asTensor(2.5)).toEqual(tensor(2.5));
  });

  it('converts an object that has a tensor method, which may return another such object', () => {
    expect(asTensor(carrier(made))).toBe(made);
    expect(asTensor(carrier(new Float64Array(1)))).toEqual(tensor(new Float64Array(1)));
    expect(asTensor(carrier(carrier(made) as never))).toBe(made);
  });

  it('refuses objects whose tensor methods return themselves or each other endlessly', () => {
    const one = { [tensorSymbol]: (): unknown => other };
    const other = { [tensorSymbol]: (): unknown => one };
    const asking: TensorCarrier = { [tensorSymbol]: () => asTensor(asking) };
    const itself = { [tensorSymbol]: (): unknown => itself };
    for (const value of [one, asking, itself]) {
      expect(thrown(() => asTensor(value))).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
        message: expect.stringContaining('must return a tensor or a typed array, but it returned another object'),
      });
    }
    expect(asTensor(carrier(made))).toBe(made);
  });

  it('adds an empty device to a plain object without a device', () => {
    const data = new Float32Array(1);
    expect(asTensor({ data, dtype: 'float32', shape: [1] })).toEqual({
      data,
      dtype: 'float32',
      shape: [1],
      device: '',
    });
  });

  it.each([
    ['text', 'abc'],
    ['undefined', undefined],
    ['null', null],
    ['a list', [1, 2]],
    ['an object', { data: 1 }],
    ['a bigint', 1n],
  ])('refuses %s and names the argument', (_, value) => {
    expect(thrown(() => asTensor(value, 'the gradient'))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('the gradient must be a tensor, a typed array or a number, got'),
    });
  });

  it.each([
    [
      { data: new Float32Array(1), device: 'cpu:0' },
      'has data but no dtype and no shape: create a tensor with tensor(data,',
    ],
    [{ data: new Float32Array(1), shape: [1] }, 'has data but no dtype: create'],
    [{ data: new Float32Array(1), dtype: 'float', shape: [1] }, 'has an unknown dtype: "float"'],
  ])('refuses an object with data that is no tensor, and names the missing or wrong field: %o', (value, message) => {
    expect(thrown(() => asTensor(value, 'the gradient'))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining(`the gradient ${message}`),
    });
  });

  it.each<readonly [string, object, string]>([
    ['data of another type', { ...made, data: new Int8Array(2) }, 'ERR_COLL_BUFFER'],
    ['data that is not an array', { ...made, data: [1, 2] }, 'ERR_COLL_BUFFER'],
    ['a shape of another size', { ...made, shape: [3] }, 'ERR_COLL_VALUE'],
    ['a device that is not a string', { ...made, device: 3 }, 'ERR_COLL_DEVICE'],
  ])('refuses a tensor with %s', (_, value, code) => {
    expect(thrown(() => asTensor(value))).toMatchObject({ name: 'ValueError', code });
  });
});

it('isTensor and isTensorLike recognise tensors and tensor carriers only', () => {
  const made = tensor([1]);
  const like = [made, new Int8Array(1), 1, { [tensorSymbol]: () => made }];
  const unlike = [undefined, null, 'a', [1], {}, 1n, { ...made, dtype: 'float' }];
  expect([like.map(isTensorLike), unlike.map(isTensorLike)]).toEqual([like.map(() => true), unlike.map(() => false)]);
  expect([...like, ...unlike].filter(isTensor)).toEqual([made]);
});

it('elementCount counts the elements of a shape', () => {
  expect([[], [0], [3], [2, 3], [2, 0, 5]].map(elementCount)).toEqual([1, 0, 3, 6, 0]);
});

it('sameShape compares shapes', () => {
  expect([sameShape([], []), sameShape([2, 3], [2, 3])]).toEqual([true, true]);
  expect([sameShape([2], [2, 1]), sameShape([2, 1], [2]), sameShape([2, 3], [3, 2])]).toEqual([false, false, false]);
});

it('reshape changes the shape without a copy', () => {
  const made = tensor([1, 2, 3, 4], { device: 'cpu:0' });
  expect(reshape(made, [2, 2])).toEqual({ ...made, shape: [2, 2] });
  expect(reshape(made, [2, 2]).data).toBe(made.data);
});

it.each<readonly [DType, TypedArray]>([
  ['float32', new Float32Array([1, Number.NaN])],
  ['float16', new Uint16Array([1, 0x7c01])],
  ['int64', new BigInt64Array([1n, -1n])],
])('copyTo copies %s into its own memory', (dtype, data) => {
  const copy = copyTo(tensor(data, { dtype }), 'cpu:3');
  expect(copy).toEqual({ data, dtype, shape: [2], device: 'cpu:3' });
  expect(copy.data.buffer).not.toBe(data.buffer);
});

it('copyTo copies shared memory into unshared memory', () => {
  const copy = copyTo(tensor(new Float32Array(new SharedArrayBuffer(8))), '');
  expect(copy.data.buffer).toBeInstanceOf(ArrayBuffer);
});

it('copyElements copies all elements of one array to another', () => {
  const into = new BigInt64Array(2);
  copyElements(into, new BigInt64Array([3n, 4n]));
  expect(into).toEqual(new BigInt64Array([3n, 4n]));
});

describe('overlaps()', () => {
  const buffer = new ArrayBuffer(32);
  const at = (byteOffset: number, length: number) => new Uint8Array(buffer, byteOffset, length);

  it.each([
    ['the same range', at(4, 8), at(4, 8), true],
    ['ranges that share one byte', at(0, 5), at(4, 4), true],
    ['a range within another', at(0, 32), at(4, 4), true],
    ['neighbours', at(0, 4), at(4, 4), false],
    ['other buffers', at(0, 4), new Uint8Array(4), false],
    ['an empty range within another', at(4, 0), at(0, 32), false],
    ['twice the same empty range', at(4, 0), at(4, 0), false],
  ])('returns whether two arrays share memory: %s', (_, a, b, expected) => {
    expect([overlaps(a, b), overlaps(b, a)]).toEqual([expected, expected]);
  });
});

it('validateTensor checks an object that was not created by tensor()', () => {
  const made = tensor([1, 2]);
  expect(() => validateTensor(made)).not.toThrow();
  expect(() => validateTensor({ ...made, shape: [] })).toThrow('shape [] needs 1 elements, but the array has 2');
});

describe('a tensor in the memory of a device', () => {
  const calls: unknown[] = [];
  /** A fake device memory that records calls. */
  const memory: DeviceMemory = {
    length: 6,
    view: (shape, device) => kept('view', shape, device),
    copy: (shape, device) => kept('copy', shape, device),
    set: () => {},
  };
  const onDevice = { dtype: 'float32', shape: [2, 3], device: 'gpu:0', memory } as unknown as Tensor;
  function kept(call: string, shape: readonly number[], device: string): Tensor {
    calls.push([call, shape, device]);
    return { ...onDevice, shape, device };
  }

  it('is reshaped and copied by its memory object', () => {
    expect(reshape(onDevice, [6])).toEqual({ ...onDevice, shape: [6] });
    expect(copyTo(onDevice, 'gpu:1')).toEqual({ ...onDevice, device: 'gpu:1' });
    expect(calls).toEqual([
      ['view', [6], 'gpu:0'],
      ['copy', [2, 3], 'gpu:1'],
    ]);
  });

  it('must have a shape with the same number of elements', () => {
    expect(() => validateTensor(onDevice)).not.toThrow();
    expect(() => validateTensor({ ...onDevice, shape: [5] })).toThrow(
      'shape [5] needs 5 elements, but the array has 6',
    );
    expect(() => validateTensor({ ...onDevice, shape: [-2, -3] })).toThrow('a shape must be a list of whole numbers');
  });
});

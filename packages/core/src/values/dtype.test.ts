import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import {
  allocate,
  allocateUnset,
  arrayName,
  byteSize,
  type DType,
  dtypes,
  isDType,
  isFloating,
  isHalf,
  naturalDType,
  quotientOf,
  stores,
  type TypedArray,
  viewOf,
} from './dtype.js';

// Columns: dtype, array type, bytes per element, dtype of a quotient.
const table: readonly (readonly [DType, new (length: number) => TypedArray, number, DType])[] = [
  ['float16', Uint16Array, 2, 'float16'],
  ['bfloat16', Uint16Array, 2, 'bfloat16'],
  ['float32', Float32Array, 4, 'float32'],
  ['float64', Float64Array, 8, 'float64'],
  ['int8', Int8Array, 1, 'float32'],
  ['int16', Int16Array, 2, 'float32'],
  ['int32', Int32Array, 4, 'float64'],
  ['int64', BigInt64Array, 8, 'float64'],
  ['uint8', Uint8Array, 1, 'float32'],
  ['uint16', Uint16Array, 2, 'float32'],
  ['uint32', Uint32Array, 4, 'float64'],
  ['uint64', BigUint64Array, 8, 'float64'],
];

it('quotientOf is tested for every dtype except bool, which cannot be divided', () => {
  expect([...table.map(([dtype]) => dtype), 'bool']).toEqual(dtypes);
});

describe.each(table)('dtype %s', (dtype, arrayType, bytes, quotient) => {
  it(`is stored in a ${arrayType.name} with ${bytes} bytes per element`, () => {
    const made = allocate(dtype, 3);
    expect(made).toBeInstanceOf(arrayType);
    expect([made.length, made.byteLength, byteSize(dtype)]).toEqual([3, 3 * bytes, bytes]);
    expect(stores(dtype, made)).toBe(true);
  });

  it(`becomes ${quotient} when divided`, () => {
    expect(quotientOf(dtype)).toBe(quotient);
  });

  it('views memory without a copy', () => {
    const buffer = new ArrayBuffer(8 * bytes);
    const view = viewOf(dtype, buffer, 2 * bytes, 3);
    expect(view).toBeInstanceOf(arrayType);
    expect([view.buffer, view.byteOffset, view.length]).toEqual([buffer, 2 * bytes, 3]);
  });
});

it('bool is stored in a Uint8Array', () => {
  expect(allocate('bool', 2)).toEqual(new Uint8Array(2));
  expect(byteSize('bool')).toBe(1);
});

it('isHalf is true for two dtypes', () => {
  expect(dtypes.filter(isHalf)).toEqual(['float16', 'bfloat16']);
});

it('isFloating is true for four dtypes', () => {
  expect(dtypes.filter(isFloating)).toEqual(['float16', 'bfloat16', 'float32', 'float64']);
});

it('isDType recognises the names of dtypes only', () => {
  expect(dtypes.every(isDType)).toBe(true);
  expect(['float', 'FLOAT32', 'toString', '', 4, undefined, {}].filter(isDType)).toEqual([]);
});

it('naturalDType returns the natural dtype of every typed array', () => {
  const arrays = [
    ...table.filter(([dtype]) => !isHalf(dtype)).map(([dtype, arrayType]) => [new arrayType(1), dtype] as const),
    [new Uint8ClampedArray(1), 'uint8'] as const,
  ];
  expect(arrays.map(([array]) => naturalDType(array))).toEqual(arrays.map(([, dtype]) => dtype));
});

it('naturalDType returns float16 for an array named Float16Array', () => {
  const array = new Uint16Array(1);
  Object.setPrototypeOf(
    array,
    Object.create(Uint16Array.prototype, { [Symbol.toStringTag]: { value: 'Float16Array' } }),
  );
  expect(naturalDType(array)).toBe('float16');
});

it('naturalDType refuses a DataView', () => {
  expect(thrown(() => naturalDType(new DataView(new ArrayBuffer(4))))).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_BUFFER',
    message: 'a DataView cannot be used as a tensor: pass a typed array',
  });
});

it('naturalDType recognises arrays of other realms', () => {
  const foreign: Float32Array = runInNewContext('new Float32Array(2)');
  expect(foreign).not.toBeInstanceOf(Float32Array);
  expect([arrayName(foreign), naturalDType(foreign), stores('float32', foreign)]).toEqual([
    'Float32Array',
    'float32',
    true,
  ]);
});

it('stores() is false for a typed array that does not belong to the dtype', () => {
  expect(stores('float16', new Float32Array(1))).toBe(false);
  expect(stores('int64', new BigUint64Array(1))).toBe(false);
  expect(stores('uint8', new Uint8ClampedArray(1) as unknown as Uint8Array)).toBe(false);
});

describe('memory that is not zeroed', () => {
  it.each([3, 2 ** 17])('of %i elements has a buffer of its own, which can be transferred', (length) => {
    const made = allocateUnset('float32', length);
    expect(made).toBeInstanceOf(Float32Array);
    expect([made.length, made.byteOffset, made.buffer.byteLength]).toEqual([length, 0, 4 * length]);
    structuredClone(made, { transfer: [made.buffer as ArrayBuffer] });
    expect(made.length).toBe(0);
  });

  it('is refused if it is larger than any buffer can be', () => {
    expect(thrown(() => allocateUnset('float64', 2 ** 52))).toMatchObject({ code: 'ERR_COLL_BUFFER' });
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allocate, type DType, dtypes } from './dtype.js';
import { decodeNumber, encodeNumber, toNumbers } from './element.js';

function stored(value: number, dtype: DType): number {
  const data = allocate(dtype, 1);
  data[0] = encodeNumber(value, dtype) as number;
  return decodeNumber(data, 0, dtype);
}

describe('an element', () => {
  it.each(dtypes)('of %s reads back as the number that was written', (dtype) => {
    expect([0, 1].map((value) => stored(value, dtype))).toEqual([0, 1]);
  });

  it('of a float dtype is rounded to the nearest number of the dtype', () => {
    expect(stored(1 / 3, 'float64')).toBe(1 / 3);
    expect(stored(1 / 3, 'float32')).toBe(Math.fround(1 / 3));
    expect(stored(1 / 3, 'float16')).toBe(0.333251953125);
    expect(stored(1 / 3, 'bfloat16')).toBe(0.333984375);
  });

  it.each(['float16', 'bfloat16', 'float32', 'float64'] as const)('of %s can be NaN or infinite', (dtype) => {
    expect([Number.NaN, Number.POSITIVE_INFINITY, -0].map((value) => stored(value, dtype))).toEqual([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      -0,
    ]);
  });

  it('of bool is 1 for every number except zero', () => {
    expect([0, -0, 0.25, -3, Number.NaN].map((value) => stored(value, 'bool'))).toEqual([0, 0, 1, 1, 1]);
  });

  it('of a 64-bit integer is a bigint', () => {
    expect(encodeNumber(-5, 'int64')).toBe(-5n);
    expect(encodeNumber(2 ** 60, 'uint64')).toBe(2n ** 60n);
  });

  // All integers follow the conversion of typed arrays.
  it.each(['int64', 'uint64'] as const)('of %s is truncated and wrapped like a 32-bit integer', (dtype) => {
    const narrow = dtype === 'int64' ? 'int32' : 'uint32';
    for (const value of [1.9, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      expect(stored(value, dtype)).toBe(stored(value, narrow));
    }
    expect(stored(-1.9, 'int64')).toBe(stored(-1.9, 'int32'));
    expect(stored(2 ** 64 + 2 ** 20, dtype)).toBe(2 ** 20);
  });
});

it('toNumbers returns all elements as numbers', () => {
  expect(toNumbers({ data: new Uint16Array([0x3c00, 0xc000]), dtype: 'float16' })).toEqual([1, -2]);
  expect(toNumbers({ data: new Uint16Array([0x3f80, 0xc000]), dtype: 'bfloat16' })).toEqual([1, -2]);
  expect(toNumbers({ data: new BigInt64Array([3n, -4n]), dtype: 'int64' })).toEqual([3, -4]);
  expect(toNumbers({ data: new Uint8Array([1, 0]), dtype: 'bool' })).toEqual([1, 0]);
  expect(toNumbers({ data: new Float32Array(), dtype: 'float32' })).toEqual([]);
});

it('64-bit elements preserve every safe integer', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      // `+ 0` turns -0 into 0, because integers have no negative zero.
      expect(stored(value, 'int64')).toBe(value + 0);
    }),
  );
});

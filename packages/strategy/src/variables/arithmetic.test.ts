import { type DType, dtypes, type TypedArray } from '@coll/core';
import { decodeNumber, encodeNumber } from '@coll/core/internal';
import { byteSize, isFloating, isHalf, viewOf } from '@coll/core/plugin';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Arithmetic, calculate } from './arithmetic.js';

const operations: readonly Arithmetic[] = ['add', 'subtract', 'multiply', 'divide', 'min', 'max'];

/** Arrays of arbitrary bits, including NaN, infinities and extreme values. */
function anyBits(dtype: DType, length: number): fc.Arbitrary<TypedArray> {
  const bytes = length * byteSize(dtype);
  return fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((bits) => viewOf(dtype, bits.slice().buffer, 0, length));
}

/** One element, computed with exact integers or in float64, and rounded once when stored. */
function plain(operation: Arithmetic, dtype: DType, a: TypedArray, b: TypedArray, index: number): unknown {
  const [one] = [a.slice(0, 1)] as [TypedArray];
  if (isFloating(dtype)) {
    const result = inFloats(operation, decodeNumber(a, index, dtype), decodeNumber(b, index, dtype));
    one[0] = encodeNumber(result, dtype) as number;
    return decodeNumber(one, 0, dtype);
  }
  const result = inIntegers(operation, BigInt(a[index] as number), BigInt(b[index] as number));
  one[0] = (typeof one[0] === 'bigint' ? result : Number(BigInt.asIntN(32, result))) as number;
  return one[0];
}

function inFloats(operation: Arithmetic, x: number, y: number): number {
  switch (operation) {
    case 'add':
      return x + y;
    case 'subtract':
      return x - y;
    case 'multiply':
      return x * y;
    case 'divide':
      return x / y;
    case 'min':
      return Math.min(x, y);
    case 'max':
      return Math.max(x, y);
  }
}

function inIntegers(operation: Arithmetic, x: bigint, y: bigint): bigint {
  switch (operation) {
    case 'add':
      return x + y;
    case 'subtract':
      return x - y;
    case 'multiply':
      return x * y;
    case 'divide':
      return x / y;
    case 'min':
      return x < y ? x : y;
    case 'max':
      return x > y ? x : y;
  }
}

const grid = dtypes
  .filter((dtype) => dtype !== 'bool')
  .flatMap((dtype) => operations.map((op) => [op, dtype] as const));

describe.each(grid)('the %s of %s variables', (operation, dtype) => {
  it('returns the results of plain arithmetic', () => {
    const pairs = fc.nat({ max: 5 }).chain((length) => fc.tuple(anyBits(dtype, length), anyBits(dtype, length)));
    fc.assert(
      fc.property(pairs, ([a, b]) => {
        // Integers are not divided by zero here.
        fc.pre(operation !== 'divide' || isFloating(dtype) || [...b].every((element) => Number(element) !== 0));
        const into = a.slice();
        calculate(operation, dtype, into, b);
        const numbers = [...into.keys()].map((index) =>
          isFloating(dtype) ? decodeNumber(into, index, dtype) : into[index],
        );
        const expected = [...a.keys()].map((index) => plain(operation, dtype, a, b, index));
        expect(numbers.map(unsigned)).toEqual(expected.map(unsigned));
      }),
      { numRuns: isHalf(dtype) ? 50 : 100 },
    );
  });
});

it.each(['min', 'max'] as const)('the %s of two numbers is NaN if either number is NaN', (operation) => {
  for (const [dtype, List] of [
    ['float32', Float32Array],
    ['float64', Float64Array],
  ] as const) {
    const into = List.of(Number.NaN, 1, Number.NaN, 2);
    calculate(operation, dtype, into, List.of(1, Number.NaN, Number.NaN, 2));
    expect(Array.from(into)).toEqual([Number.NaN, Number.NaN, Number.NaN, 2]);
  }
});

// The minimum of 0 and -0 may be either zero.
function unsigned(value: unknown): unknown {
  return value === 0 ? 0 : value;
}

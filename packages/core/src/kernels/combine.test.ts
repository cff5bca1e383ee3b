import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryArray } from '../../test/arbitrary-tensor.js';
import { plainCombine } from '../../test/plain-arithmetic.js';
import { allocate, type DType, dtypes, isHalf, quotientOf, type TypedArray } from '../values/dtype.js';
import { type CombineKernel, combineKernel, divideKernel, type ElementaryOp, elementaryOp } from './combine.js';

const accumulators = dtypes.filter((dtype) => !isHalf(dtype));
const ops: readonly ElementaryOp[] = ['sum', 'product', 'min', 'max'];
const grid = accumulators.flatMap((dtype) => ops.map((op) => [op, dtype] as const));

/** Combines all elements of two arrays. */
function combined(kernel: CombineKernel, dtype: DType, a: TypedArray, b: TypedArray): TypedArray {
  const into = allocate(dtype, a.length);
  kernel(into, 0, a, 0, b, 0, a.length);
  return into;
}

describe.each(grid)('the %s kernel of %s', (op, dtype) => {
  const kernel = combineKernel(dtype, op);
  const pairs = fc
    .nat({ max: 8 })
    .chain((length) => fc.tuple(arbitraryArray(dtype, length), arbitraryArray(dtype, length)));

  it('returns the results of plain arithmetic', () => {
    fc.assert(
      fc.property(pairs, ([a, b]) => {
        expect([...combined(kernel, dtype, a, b)]).toEqual(plainCombine(op, dtype, [a, b]));
      }),
    );
  });

  it('returns the same results when it overwrites either operand', () => {
    fc.assert(
      fc.property(pairs, ([a, b]) => {
        const expected = combined(kernel, dtype, a, b);
        const [overA, overB] = [a.slice(), b.slice()];
        kernel(overA, 0, overA, 0, b, 0, a.length);
        kernel(overB, 0, a, 0, overB, 0, a.length);
        expect([overA, overB]).toEqual([expected, expected]);
      }),
      { numRuns: 20 },
    );
  });

  it('reads and writes nothing outside its ranges', () => {
    const [ones, twos, into] = [allocate(dtype, 6), allocate(dtype, 6), allocate(dtype, 6)];
    const [one, zero] = (typeof ones[0] === 'bigint' ? [1n, 0n] : [1, 0]) as [never, never];
    ones.fill(one);
    twos.fill(one);
    kernel(into, 1, ones, 2, twos, 3, 2);
    const [result] = plainCombine(op, dtype, [ones, twos]);
    expect([...into]).toEqual([zero, result, result, zero, zero, zero]);
    kernel(into, 0, ones, 0, twos, 0, 0);
    expect(into[0]).toBe(zero);
  });
});

it('kernels are compiled once and cached', () => {
  expect(combineKernel('float32', 'sum')).toBe(combineKernel('float32', 'sum'));
  expect(combineKernel('float32', 'sum')).not.toBe(combineKernel('float64', 'sum'));
  expect(divideKernel('int8')).toBe(divideKernel('int8'));
});

it('the mean kernel sums without dividing', () => {
  expect((['sum', 'mean', 'min', 'max', 'product'] as const).map(elementaryOp)).toEqual([
    'sum',
    'sum',
    'min',
    'max',
    'product',
  ]);
});

it('integer kernels wrap around on overflow', () => {
  const two = Int32Array.of(2 ** 31 - 1, -(2 ** 31));
  expect(combined(combineKernel('int32', 'sum'), 'int32', two, Int32Array.of(1, -1))).toEqual(
    Int32Array.of(-(2 ** 31), 2 ** 31 - 1),
  );
  const large = Uint32Array.of(0xffffffff);
  expect(combined(combineKernel('uint32', 'product'), 'uint32', large, large)).toEqual(Uint32Array.of(1));
});

it.each(['min', 'max'] as const)('kernels propagate NaN in a %s, and order -0 below 0', (op) => {
  const a = Float32Array.of(Number.NaN, 1, -0, 0);
  const b = Float32Array.of(1, Number.NaN, 0, -0);
  const zero = op === 'min' ? -0 : 0;
  expect([...combined(combineKernel('float32', op), 'float32', a, b)]).toEqual([Number.NaN, Number.NaN, zero, zero]);
});

describe.each(accumulators.filter((dtype) => dtype !== 'bool'))('the divide kernel of %s', (dtype) => {
  it('divides without truncation and rounds once', () => {
    const lengths = fc.nat({ max: 8 }).chain((length) => arbitraryArray(dtype, length));
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 64 }), (from, divisor) => {
        const into = allocate(quotientOf(dtype), from.length) as Float32Array;
        divideKernel(dtype)(into, 0, from, 0, from.length, divisor);
        const exact = [...from].map((element) => Number(element) / divisor);
        expect([...into]).toEqual(quotientOf(dtype) === 'float32' ? exact.map(Math.fround) : exact);
      }),
    );
  });

  it('divides by any number, not only by integers', () => {
    const divisors = fc.oneof(fc.double(), fc.constantFrom(0, 0.1, 2.5, 2 ** 32 + 1, 2 ** 31, -(2 ** 31), -3, -4));
    fc.assert(
      fc.property(arbitraryArray(dtype, 4), divisors, (from, divisor) => {
        const into = allocate(quotientOf(dtype), 4) as Float32Array;
        divideKernel(dtype)(into, 0, from, 0, 4, divisor);
        const exact = [...from].map((element) => Number(element) / divisor);
        expect([...into]).toEqual(quotientOf(dtype) === 'float32' ? exact.map(Math.fround) : exact);
      }),
    );
  });

  it('writes nothing outside its range', () => {
    const from = allocate(dtype, 4);
    from.fill((typeof from[0] === 'bigint' ? 6n : 6) as never);
    const into = allocate(quotientOf(dtype), 4);
    divideKernel(dtype)(into, 1, from, 2, 2, 4);
    expect([...into]).toEqual([0, 1.5, 1.5, 0]);
  });
});

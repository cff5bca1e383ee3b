import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryShape, arbitraryTensor } from '../../test/arbitrary-tensor.js';
import { plainCombine } from '../../test/plain-arithmetic.js';
import { thrown } from '../../test/thrown.js';
import { type CollectiveOp, refusedArithmetic } from '../collectives/collective.js';
import { type DType, dtypes, quotientOf } from '../values/dtype.js';
import { toNumbers } from '../values/element.js';
import { type Tensor, tensor } from '../values/tensor.js';
import { addN, combine, convertNumbers, divide, requireAlike } from './arithmetic.js';

const ops: readonly CollectiveOp[] = ['sum', 'mean', 'min', 'max', 'product'];
const grid = dtypes.flatMap((dtype) => ops.map((op) => [op, dtype] as const));

function alikeTensors(dtype: DType): fc.Arbitrary<Tensor[]> {
  return arbitraryShape.chain((shape) => fc.array(arbitraryTensor(dtype, shape), { minLength: 1, maxLength: 5 }));
}

describe.each(grid.filter(([op, dtype]) => !refusedArithmetic(op, dtype)))('the %s of %s tensors', (op, dtype) => {
  it('returns the results of plain arithmetic from left to right, without changing its inputs', () => {
    fc.assert(
      fc.property(alikeTensors(dtype), (tensors) => {
        const before = structuredClone(tensors);
        const result = combine(op, tensors);
        expect([...result.data].map(sameNaN(result.dtype))).toEqual(
          plainCombine(
            op,
            dtype,
            tensors.map(({ data }) => data),
          ).map(sameNaN(result.dtype)),
        );
        expect([result.dtype, result.shape]).toEqual([op === 'mean' ? quotientOf(dtype) : dtype, tensors[0]?.shape]);
        expect(tensors).toEqual(before);
      }),
      { numRuns: 50 },
    );
  });
});

/** Maps all NaNs of a half type to -1, because the bits of a NaN are not promised. */
function sameNaN(dtype: DType): (element: number | bigint) => number | bigint {
  return (element) => {
    const isHalf = dtype === 'float16' || dtype === 'bfloat16';
    return isHalf && Number.isNaN(toNumbers({ data: Uint16Array.of(Number(element)), dtype })[0]) ? -1 : element;
  };
}

describe('combine()', () => {
  it('returns new memory on the device of the first tensor', () => {
    const one = tensor([1, 2], { device: 'cpu:3' });
    const result = combine('sum', [one]);
    expect(result).toEqual(one);
    expect(result.data).not.toBe(one.data);
    expect(combine('sum', [one, tensor([1, 1], { device: 'cpu:0' })]).device).toBe('cpu:3');
  });

  it('adds from left to right', () => {
    const terms = [1, 1e16, -1e16].map((value) => tensor([value]));
    expect(combine('sum', terms).data).toEqual(Float64Array.of(0));
    expect(combine('sum', terms.toReversed()).data).toEqual(Float64Array.of(1));
  });

  it('accumulates 16-bit floats in float32 and rounds once', () => {
    // Sums in float16 would never exceed 2048, because 2048 + 1 is rounded to 2048.
    const terms = [2048, 1, 1, 1, 1].map((value) => tensor([value], { dtype: 'float16' }));
    expect(toNumbers(combine('sum', terms))).toEqual([2052]);
    const large = [60000, 60000].map((value) => tensor([value], { dtype: 'float16' }));
    expect(toNumbers(combine('mean', large))).toEqual([60000]);
    expect(toNumbers(combine('sum', large))).toEqual([Number.POSITIVE_INFINITY]);
  });

  it('adds integers of a mean as floats, without wrapping around', () => {
    const terms = [200, 100, 255].map((value) => tensor([value], { dtype: 'uint8' }));
    expect(combine('mean', terms)).toMatchObject({ dtype: 'float32', data: Float32Array.of(185) });
    const large = tensor(BigInt64Array.of(2n ** 62n, 2n ** 53n + 1n));
    expect(combine('mean', [large, large])).toMatchObject({ data: Float64Array.of(2 ** 62, 2 ** 53) });
    expect(combine('mean', [tensor([1, 2], { dtype: 'int64' }), tensor([2, 2], { dtype: 'int64' })])).toMatchObject({
      dtype: 'float64',
      data: Float64Array.of(1.5, 2),
    });
  });

  it('refuses tensors of different shapes, and names the replica that differs', () => {
    const [a, b] = [tensor([1, 2]), tensor([1, 2], { shape: [2, 1] })];
    expect(thrown(() => combine('sum', [a, a, b]))).toMatchObject({
      name: 'InvalidArgumentError',
      code: 'ERR_COLL_SHAPE_MISMATCH',
      rank: 2,
      operation: 'reduce',
      message: 'reduce: replica 0 has shape [2], replica 2 has [2,1]; all must have the same shape',
    });
  });

  it('refuses tensors of different dtypes, and names the replica that differs', () => {
    const [a, b] = [tensor([1, 2]), tensor([1, 2], { dtype: 'float32' })];
    expect(thrown(() => combine('sum', [a, b]))).toMatchObject({
      name: 'InternalError',
      code: 'ERR_COLL_DTYPE_MISMATCH',
      rank: 1,
      message: 'reduce: replica 0 has float64, replica 1 has float32; all must have the same dtype',
    });
  });

  it('refuses the mean of bool', () => {
    expect(thrown(() => combine('mean', [tensor([1], { dtype: 'bool' })]))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_REFUSED',
    });
  });

  it('refuses an unknown op', () => {
    for (const op of ['SUM', 'average', ''] as never[]) {
      expect(thrown(() => combine(op, [tensor([1])]))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED' });
    }
  });

  it('refuses an empty list', () => {
    expect(thrown(() => combine('sum', []))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('must be non-empty'),
    });
  });
});

it('addN adds a list of tensors', () => {
  expect(addN([tensor([1, 2]), tensor([10, 20]), tensor([100, 200])]).data).toEqual(Float64Array.of(111, 222));
});

describe('divide()', () => {
  it('divides without truncation, in new memory, and keeps shape and device', () => {
    const whole = tensor([1, 2], { dtype: 'int32', shape: [2, 1], device: 'cpu:1' });
    const data = Float64Array.of(0.25, 0.5);
    expect(divide(whole, 4)).toEqual({ data, dtype: 'float64', shape: [2, 1], device: 'cpu:1' });
    expect(whole.data).toEqual(Int32Array.of(1, 2));
  });

  it.each(dtypes.filter((dtype) => dtype !== 'bool'))('returns the quotient type of %s', (dtype) => {
    expect(divide(tensor([3], { dtype }), 2)).toMatchObject({ dtype: quotientOf(dtype) });
    expect(toNumbers(divide(tensor([3], { dtype }), 2))).toEqual([1.5]);
  });

  it('refuses bool, which has no mean', () => {
    expect(thrown(() => divide(tensor([1], { dtype: 'bool' }), 2))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_REFUSED',
    });
  });
});

it('convertNumbers converts between integer types', () => {
  const narrow = tensor([-1, 5], { dtype: 'int8', device: 'cpu:1' });
  expect(convertNumbers(narrow, 'int64')).toEqual({ ...narrow, data: BigInt64Array.of(-1n, 5n), dtype: 'int64' });
  expect(convertNumbers(tensor([7], { dtype: 'uint64' }), 'int32').data).toEqual(Int32Array.of(7));
});

it('requireAlike accepts tensors of the same kind, and an empty list', () => {
  expect(() => requireAlike([])).not.toThrow();
  expect(() => requireAlike([tensor([1]), tensor([2], { device: 'cpu:9' })])).not.toThrow();
  expect(thrown(() => requireAlike([tensor([1]), tensor(1)], 'gather'))).toMatchObject({
    operation: 'gather',
    rank: 1,
  });
});

it('refusedArithmetic refuses nothing but the mean of bool', () => {
  const refused = grid.filter(([op, dtype]) => refusedArithmetic(op, dtype) !== undefined);
  expect(refused).toEqual([['mean', 'bool']]);
  expect(refusedArithmetic(undefined, 'bool')).toBeUndefined();
});

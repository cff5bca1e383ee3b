import { ReduceOp, tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { commonDType, requireDivisible, requireSummable, roundedTotal, sumAlong } from './axis-sum.js';

describe('requireDivisible', () => {
  it('refuses values with a bool component', () => {
    const values = [tensor(Float32Array.of(1)), tensor(Uint8Array.of(1), { dtype: 'bool' })];
    expect(() => requireDivisible(values)).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_REFUSED', operation: 'reduce' }),
    );
    expect(requireDivisible(values.slice(0, 1))).toBeUndefined();
  });
});

describe('requireSummable', () => {
  it.each([['MAX'], ['MIN']] as const)('refuses an axis for the op %s', (op) => {
    expect(() => requireSummable(op as never, 0)).toThrow(`an axis is supported for SUM and MEAN only, got ${op}`);
  });

  it.each([[0.5], [[0, 'x']], [['x', 0]], ['0']])('refuses the axis %j', (axis) => {
    expect(() => requireSummable('SUM', axis as never)).toThrow('axis must be an integer, a list of integers or null');
  });
});

describe('sumAlong', () => {
  it.each([
    ['uint64', BigUint64Array.of(2n ** 63n + 1n, 1n, 5n, 2n ** 53n + 1n), [2n ** 63n + 2n, 2n ** 53n + 6n]],
    ['int64', BigInt64Array.of(-(2n ** 62n) - 1n, -1n, 5n, 2n ** 53n + 1n), [-(2n ** 62n) - 2n, 2n ** 53n + 6n]],
  ])('sums %s exactly', (dtype, data, sums) => {
    const sum = sumAlong(ReduceOp.SUM, tensor(data, { shape: [2, 2] }), 1);
    expect([sum.dtype, sum.shape, [...sum.data]]).toEqual([dtype, [2], sums]);
  });

  it('wraps sums of integers around, and combines bool with or', () => {
    expect(sumAlong(ReduceOp.SUM, new Uint8Array(512).fill(1), 0).data).toEqual(Uint8Array.of(0));
    expect(sumAlong(ReduceOp.SUM, Int16Array.of(32767, 1), 0).data).toEqual(Int16Array.of(-32768));
    const flags = tensor(new Uint8Array(256).fill(1), { dtype: 'bool' });
    expect(sumAlong(ReduceOp.SUM, flags, 0)).toMatchObject({ dtype: 'bool', data: Uint8Array.of(1) });
  });

  it.each(['uint8', 'int32', 'int64', 'float16', 'float32'] as const)('sums %s for a mean in float64', (dtype) => {
    const sum = sumAlong(ReduceOp.MEAN, tensor([100, 100, 100], { dtype }), 0);
    expect([sum.dtype, sum.data]).toEqual(['float64', Float64Array.of(300)]);
  });
});

describe('roundedTotal', () => {
  it('divides before it rounds', () => {
    const total = tensor(Float64Array.of(120_000), { shape: [] });
    expect(roundedTotal(ReduceOp.MEAN, total, 'float16', 2)).toMatchObject({
      dtype: 'float16',
      data: Uint16Array.of(0x7b53),
    });
    expect(roundedTotal(ReduceOp.SUM, total, 'float16', 2).data).toEqual(Uint16Array.of(0x7c00));
    expect(roundedTotal(ReduceOp.MEAN, total, 'int8', 2)).toMatchObject({
      dtype: 'float32',
      data: Float32Array.of(60_000),
    });
  });
});

describe('commonDType', () => {
  it('refuses components of different dtypes, and names the replica that differs', () => {
    const one = tensor(Float32Array.of(1));
    expect(commonDType([one, one])).toBe('float32');
    expect(() => commonDType([one, one, tensor(Float64Array.of(1))])).toThrow(
      expect.objectContaining({
        name: 'InternalError',
        code: 'ERR_COLL_DTYPE_MISMATCH',
        message: 'reduce: replica 0 has float32, replica 2 has float64; all must have the same dtype',
      }),
    );
  });
});

import { tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { requireDivisible, requireSummable, sumAlong } from './axis-sum.js';

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
    const sum = sumAlong(tensor(data, { shape: [2, 2] }), 1);
    expect([sum.dtype, sum.shape, [...sum.data]]).toEqual([dtype, [2], sums]);
  });
});

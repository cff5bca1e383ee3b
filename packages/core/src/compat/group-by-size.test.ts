import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Tensor, zeros } from '../values/tensor.js';
import { groupBySize } from './group-by-size.js';

const bytes = (...sizes: readonly number[]): Tensor[] => sizes.map((size) => zeros('int8', [size]));
const sizesOf = (packs: readonly (readonly Tensor[])[]) => packs.map((pack) => pack.map(({ data }) => data.length));

describe('groupBySize', () => {
  it.each<readonly [number[], number[][]]>([
    [
      [60, 40, 8, 8],
      [[60, 40, 8], [8]],
    ],
    [
      [101, 1],
      [[101], [1]],
    ],
    [
      [100, 1, 1],
      [[100, 1], [1]],
    ],
    [[50, 50, 0, 1], [[50, 50, 0, 1]]],
    [[1, 2, 3], [[1, 2, 3]]],
    [
      [500, 500, 500],
      [[500], [500], [500]],
    ],
    [[0, 0], [[0, 0]]],
    [[], []],
  ])('splits %j at 100 bytes into %j', (sizes, packs) => {
    expect(sizesOf(groupBySize(bytes(...sizes), 100))).toEqual(packs);
  });

  it('returns exactly one pack for a size of 0, also for an empty list', () => {
    expect(sizesOf(groupBySize(bytes(5, 1000, 7), 0))).toEqual([[5, 1000, 7]]);
    expect(groupBySize([], 0)).toEqual([[]]);
  });

  it('counts bytes, not elements', () => {
    const doubles = [zeros('float64', [2]), zeros('float64', [1]), zeros('float64', [1])];
    expect(groupBySize(doubles, 16).map((pack) => pack.length)).toEqual([2, 1]);
  });

  it('returns the same tensor objects in a new list', () => {
    const tensors = bytes(1, 2);
    const [pack] = groupBySize(tensors, 0);
    expect(pack).not.toBe(tensors);
    expect(pack?.every((tensor, index) => tensor === tensors[index])).toBe(true);
  });

  it('keeps the order and ends each pack but the last as soon as it exceeds the limit', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 50 })), fc.integer({ min: 1, max: 100 }), (sizes, limit) => {
        const packs = sizesOf(groupBySize(bytes(...sizes), limit));
        const sum = (pack: readonly number[]) => pack.reduce((total, size) => total + size, 0);
        expect(packs.flat()).toEqual(sizes);
        for (const pack of packs.slice(0, -1)) expect(sum(pack)).toBeGreaterThan(limit);
        for (const pack of packs) {
          expect(pack.length).toBeGreaterThan(0);
          expect(sum(pack.slice(0, -1))).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });
});

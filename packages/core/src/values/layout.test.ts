import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryShape } from '../../test/arbitrary-tensor.js';
import { dtypes } from './dtype.js';
import { IndexedSlices } from './indexed-slices.js';
import { hashOf, layoutOf } from './layout.js';
import { zeros } from './tensor.js';

const slices = (rows: number, ...row: readonly number[]) =>
  new IndexedSlices(zeros('float32', [rows, ...row]), new Int32Array(rows));

describe('layoutOf', () => {
  it('is the same for the same dtypes and shapes, whatever the memory and the data', () => {
    const ones = { ...zeros('float32', [2, 3], 'cpu:7'), data: new Float32Array(6).fill(1) };
    expect(layoutOf([ones, slices(2, 3)])).toBe(layoutOf([zeros('float32', [2, 3]), slices(2, 3)]));
  });

  it('depends, for sparse values, on the number of dimensions but not on their sizes', () => {
    expect(layoutOf([slices(0, 3)])).toBe(layoutOf([slices(5, 4)]));
    expect(layoutOf([slices(1, 3)])).not.toBe(layoutOf([slices(1, 3, 1)]));
    expect(layoutOf([slices(1, 3)])).not.toBe(layoutOf([zeros('float32', [1, 3])]));
  });

  it('distinguishes dtypes, shapes, order, number and sparsity', () => {
    const [a, b] = [zeros('float32', [2, 3]), zeros('float32', [3, 2])];
    const lists = [
      [],
      [a],
      [b],
      [a, b],
      [b, a],
      [a, a],
      [zeros('int32', [2, 3])],
      [zeros('float32', [6])],
      [slices(2, 3)],
    ];
    expect(new Set(lists.map((list) => layoutOf(list))).size).toBe(lists.length);
  });

  it('depends on the form of the structure', () => {
    const [one, two] = [tensorsOf(1), tensorsOf(2)];
    const hashes = [
      layoutOf(one),
      layoutOf(one, '[1]'),
      layoutOf(one, '{a}'),
      layoutOf(two, '[2]'),
      layoutOf(two, '{a, b}'),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('is a 32-bit number that depends on every dimension', () => {
    const forms = fc.array(fc.tuple(fc.constantFrom(...dtypes), arbitraryShape), { maxLength: 4 });
    fc.assert(
      fc.property(forms, forms, (left, right) => {
        const [first, second] = [left, right].map((list) =>
          layoutOf(list.map(([dtype, shape]) => zeros(dtype, shape))),
        );
        expect(first).toBe((first as number) | 0);
        expect(first === second).toBe(JSON.stringify(left) === JSON.stringify(right));
      }),
    );
  });
});

it('hashOf depends on the numbers of a list and their order', () => {
  const lists = [[], [0], [0, 0], [1], [1, 2], [2, 1], [2 ** 31 - 1], [-1]];
  expect(new Set(lists.map(hashOf)).size).toBe(lists.length);
  expect(hashOf([1, 2])).toBe(hashOf([1, 2]));
});

function tensorsOf(count: number) {
  return Array.from({ length: count }, () => zeros('float32', [3]));
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { toNumbers } from '../values/element.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { tensor, zeros } from '../values/tensor.js';
import { densify } from './densify.js';

/** Rows of two elements at the given indices of a dense tensor of four rows. */
function slices(rows: readonly number[], indices: readonly number[], device = ''): IndexedSlices {
  const values = tensor(rows, { shape: [indices.length, 2], device });
  return new IndexedSlices(values, Int32Array.from(indices), [4, 2]);
}

describe('densify()', () => {
  it('refuses dense values', () => {
    expect(thrown(() => densify(tensor([1]) as never))).toMatchObject({ name: 'TypeError', code: 'ERR_COLL_TYPE' });
  });

  it('sums rows with the same index and fills all other rows with zeros', () => {
    expect(densify(slices([1, 2, 3, 4, 10, 20], [2, 0, 2], 'cpu:1'))).toEqual(
      tensor([3, 4, 0, 0, 11, 22, 0, 0], { shape: [4, 2], device: 'cpu:1' }),
    );
  });

  it('returns the sum of the rows of each index, for any rows', () => {
    const rows = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: -100, max: 100 })));
    fc.assert(
      fc.property(rows, (entries) => {
        const values = tensor(
          entries.map(([, value]) => value),
          { dtype: 'int32' },
        );
        const sparse = new IndexedSlices(
          values,
          BigInt64Array.from(entries, ([index]) => BigInt(index)),
          [4],
        );
        const expected = [0, 1, 2, 3].map((index) =>
          entries.filter((entry) => entry[0] === index).reduce((sum, [, value]) => sum + value, 0),
        );
        expect(toNumbers(densify(sparse))).toEqual(expected);
      }),
    );
  });

  it.each(['float16', 'bfloat16'] as const)('accumulates %s in float32 and rounds once', (dtype) => {
    // Beyond `large`, the dtype has only even integers: rounding after each addition would lose every 1.
    const large = dtype === 'float16' ? 2048 : 256;
    const values = tensor([large, 1, 1, 1, 1], { dtype, shape: [5] });
    expect(toNumbers(densify(new IndexedSlices(values, new Int32Array(5), [1])))).toEqual([large + 4]);
  });

  it('names an index beyond 2^53 exactly in the error', () => {
    const far = new IndexedSlices(tensor([1]), BigInt64Array.of(2n ** 53n + 1n), [4]);
    expect(() => densify(far)).toThrow('index 9007199254740993 is outside denseShape [4]');
    const unsigned = new IndexedSlices(tensor([1]), BigUint64Array.of(2n ** 64n - 1n), [4]);
    expect(() => densify(unsigned)).toThrow('index 18446744073709551615 is outside');
  });

  it('accepts scalar rows, rows without elements, and no rows at all', () => {
    expect(densify(new IndexedSlices(tensor([1, 2]), Uint8Array.of(1, 1), [2]))).toEqual(tensor([0, 3]));
    const narrow = new IndexedSlices(zeros('int8', [2, 0]), Int32Array.of(0, 1), [3, 0]);
    expect(densify(narrow)).toEqual(zeros('int8', [3, 0]));
    expect(() => densify(new IndexedSlices(zeros('int8', [1, 0]), Int32Array.of(3), [3, 0]))).toThrow('index 3');
    expect(densify(slices([], []))).toEqual(zeros('float64', [4, 2]));
  });

  it('does not change the slices', () => {
    const one = slices([1, 2, 3, 4], [0, 0]);
    const before = structuredClone({ ...one });
    densify(one);
    expect({ ...one }).toEqual(before);
  });

  it('refuses a dense shape with more elements than a tensor can have', () => {
    const huge = new IndexedSlices(zeros('int8', [0, 3]), new Int32Array(), [2 ** 30, 3]);
    expect(thrown(() => densify(huge))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER' });
  });

  it('requires a dense shape', () => {
    const open = new IndexedSlices(tensor([1]), new Int32Array(1));
    expect(thrown(() => densify(open))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
  });

  it.each([-1, 4])('refuses the index %i for four rows', (index) => {
    expect(thrown(() => densify(slices([1, 2], [index])))).toMatchObject({
      name: 'ValueError',
      message: `index ${index} is outside denseShape [4,2]`,
    });
  });
});

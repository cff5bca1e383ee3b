import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { Mirrored, PerReplica } from '../values/distributed-values.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor } from '../values/tensor.js';
import { copyToDevice, divideByN, isIndexedSlices, splitBySparsity, stitchValues } from './sparse.js';

/** Rows of two elements at the given indices of a dense tensor of four rows. */
function slices(rows: readonly number[], indices: readonly number[], device = ''): IndexedSlices {
  const values = tensor(rows, { shape: [indices.length, 2], device });
  return new IndexedSlices(values, Int32Array.from(indices), [4, 2]);
}

const dense = tensor([1, 1, 1, 1, 1, 1, 1, 1], { shape: [4, 2] });

describe('isIndexedSlices', () => {
  it('is true for slices, and for distributed values that have only sparse components', () => {
    const [a, b] = [slices([1, 2], [0]), slices([3, 4], [1])];
    expect([a, new PerReplica([a, b]), new Mirrored([a])].map(isIndexedSlices)).toEqual([true, true, true]);
  });

  it('is false for a value with mixed components, or without components', () => {
    const values = [
      new PerReplica([slices([1, 2], [0]), dense]),
      new PerReplica([]),
      dense,
      undefined,
      [slices([], [])],
    ];
    expect(values.filter(isIndexedSlices)).toEqual([]);
  });
});

describe('divideByN', () => {
  it('divides a dense value without truncation', () => {
    expect(divideByN(tensor([1, 3], { dtype: 'int32' }), 2)).toEqual(tensor([0.5, 1.5]));
  });

  it('divides the values of a sparse value and keeps its indices', () => {
    expect(divideByN(slices([1, 3], [2]), 2)).toEqual(slices([0.5, 1.5], [2]));
  });
});

describe('copyToDevice', () => {
  it('copies a dense value', () => {
    const copy = copyToDevice(dense, 'cpu:4') as Tensor;
    expect(copy).toEqual({ ...dense, device: 'cpu:4' });
    expect(copy.data).not.toBe(dense.data);
  });

  it('copies the values and indices of a sparse value', () => {
    const whole = slices([1, 2], [3]);
    const copy = copyToDevice(whole, 'cpu:4') as IndexedSlices;
    expect(copy).toBeInstanceOf(IndexedSlices);
    expect([copy.values, copy.indices, copy.denseShape]).toEqual([
      { ...whole.values, device: 'cpu:4' },
      { ...whole.indices, device: 'cpu:4' },
      [4, 2],
    ]);
    expect([copy.values.data === whole.values.data, copy.indices.data === whole.indices.data]).toEqual([false, false]);
  });

  it('keeps an undefined dense shape undefined', () => {
    const copy = copyToDevice(new IndexedSlices(tensor([1]), new Int32Array(1)), 'cpu:4') as IndexedSlices;
    expect(copy.denseShape).toBeUndefined();
  });
});

describe('splitBySparsity and stitchValues', () => {
  it('separate dense and sparse values and remember their positions', () => {
    const sparse = slices([1, 2], [0]);
    expect(splitBySparsity([dense, sparse, dense])).toEqual({
      dense: [dense, dense],
      denseIndices: [0, 2],
      sparse: [sparse],
      sparseIndices: [1],
    });
  });

  it('are inverses of each other', () => {
    const values = fc
      .array(fc.boolean())
      .map((kinds) => kinds.map((isSparse) => (isSparse ? slices([], []) : { ...dense })));
    fc.assert(
      fc.property(values, (list) => {
        const split = splitBySparsity(list);
        const stitched = stitchValues([
          [split.dense, split.denseIndices],
          [split.sparse, split.sparseIndices],
        ]);
        expect(stitched.every((value, index) => value === list[index])).toBe(true);
        expect(stitched).toHaveLength(list.length);
      }),
    );
  });

  it('refuse to fill a position twice', () => {
    const action = () =>
      stitchValues([
        [['a'], [0]],
        [
          ['b', 'c'],
          [1, 0],
        ],
      ]);
    expect(thrown(action)).toMatchObject({ name: 'AssertionError', code: 'ERR_COLL_INTERNAL' });
  });

  it('refuse a position beyond the number of values', () => {
    expect(thrown(() => stitchValues([[['a'], [1]]]))).toMatchObject({
      name: 'AssertionError',
      message: 'internal error: position 1 is not one of 1',
    });
  });

  it('refuse a second value for a position whose first value was undefined', () => {
    expect(() =>
      stitchValues<unknown>([
        [[undefined], [0]],
        [['b'], [0]],
      ]),
    ).toThrow('internal error: position 0 is filled twice');
  });
});

import { describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { densify } from '../sparse/densify.js';
import { dtypes } from './dtype.js';
import { IndexedSlices } from './indexed-slices.js';
import { type TensorLike, tensor, zeros } from './tensor.js';

const values = tensor(new Float32Array([1, 2, 3, 4, 5, 6]), { shape: [2, 3], device: 'cpu:1' });
const indices = new Int32Array([4, 0]);

describe('IndexedSlices', () => {
  it('exposes values, indices and dense shape, and the dtype and device of its values', () => {
    const slices = new IndexedSlices(values, indices, [5, 3]);
    expect(slices).toMatchObject({ values, indices: tensor(indices), denseShape: [5, 3] });
    expect([slices.dtype, slices.device]).toEqual(['float32', 'cpu:1']);
  });

  it('accepts an undefined dense shape', () => {
    expect(new IndexedSlices(values, indices).denseShape).toBeUndefined();
  });

  it('may have no rows', () => {
    expect(new IndexedSlices(zeros('float32', [0, 3]), new Int32Array(), [5, 3]).values.shape).toEqual([0, 3]);
  });

  it('accepts indices of every integer dtype and of no other', () => {
    const accepted = dtypes.filter((dtype) => {
      try {
        return new IndexedSlices(values, zeros(dtype, [2]));
      } catch {
        return false;
      }
    });
    expect(accepted).toEqual(['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64']);
  });

  it.each<readonly [string, TensorLike, TensorLike, number[] | undefined, string]>([
    [
      'floating-point indices',
      values,
      new Float32Array(2),
      undefined,
      'indices must be a list of integers, got float32',
    ],
    ['indices of two dimensions', values, tensor(indices, { shape: [2, 1] }), undefined, 'of shape [2,1]'],
    ['one row too few', values, new Int32Array(3), undefined, 'got shape [2,3] for 3 indices'],
    ['values without rows', 5, new Int32Array(1), undefined, 'values must have one row per index, got shape []'],
    ['rows of another shape', values, indices, [5, 4], 'rows of shape [3] do not fit into denseShape [5,4]'],
    ['a dense shape of another rank', values, indices, [5], 'do not fit into denseShape [5]'],
    [
      'a dense shape that is not a list',
      values,
      indices,
      5 as never,
      'denseShape must be a list of whole numbers, 0 or more, got 5',
    ],
    ['a negative dense shape', values, indices, [-1, 3], 'denseShape must be a list of whole numbers'],
  ])('refuses %s', (_, rows, at, denseShape, message) => {
    expect(thrown(() => new IndexedSlices(rows, at, denseShape))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining(message),
    });
  });

  it('does not check indices against the dense shape', () => {
    expect(new IndexedSlices(values, Int32Array.of(-1, 99), [5, 3]).indices.data).toEqual(Int32Array.of(-1, 99));
  });

  describe('of values that are slices themselves', () => {
    const inner = new IndexedSlices(values, BigInt64Array.of(2n, 0n), [3, 3]);

    it('composes the indices with the indices of the inner slices', () => {
      const outer = new IndexedSlices(inner, Uint16Array.of(40, 50, 60), [100, 3]);
      expect(outer.values).toBe(values);
      expect(outer.indices).toEqual(tensor(Uint16Array.of(60, 40)));
      expect(outer.denseShape).toEqual([100, 3]);
      const wide = new IndexedSlices(inner, BigInt64Array.of(40n, 50n, -(2n ** 60n)));
      expect(wide.indices).toEqual(tensor(BigInt64Array.of(-(2n ** 60n), 40n)));
    });

    it('represents the same tensor as slices of the densified inner slices', () => {
      const outer = Int32Array.of(7, 7, 2);
      const [nested, dense] = [inner, densify(inner)].map((rows) => new IndexedSlices(rows, outer, [8, 3]));
      expect(densify(nested as IndexedSlices)).toEqual(densify(dense as IndexedSlices));
    });

    it('refuses indices that are out of range for the inner slices', () => {
      expect(() => new IndexedSlices(inner, Int32Array.of(1, 2))).toThrow('one row for each of the 2 indices');
      const open = new IndexedSlices(values, indices);
      expect(() => new IndexedSlices(open, Int32Array.of(1, 2, 3, 4))).toThrow(
        'values are slices with an index 4, but each must be the position of one of the 4 outer indices',
      );
    });
  });

  it('recognises instances from a separately installed copy of the library', async () => {
    vi.resetModules();
    const other = await import('./indexed-slices.js');
    expect(other.IndexedSlices).not.toBe(IndexedSlices);
    expect(new other.IndexedSlices(values, indices)).toBeInstanceOf(IndexedSlices);
    expect({ values, indices } instanceof IndexedSlices).toBe(false);
  });

  it('distinguishes a subclass from its base class', () => {
    class Embedding extends IndexedSlices {}
    expect(new Embedding(values, indices)).toBeInstanceOf(Embedding);
    expect(new Embedding(values, indices)).toBeInstanceOf(IndexedSlices);
    expect(new IndexedSlices(values, indices)).not.toBeInstanceOf(Embedding);
  });
});

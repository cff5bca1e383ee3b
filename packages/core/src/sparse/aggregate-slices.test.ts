import { describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { toNumbers } from '../values/element.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import { aggregateTensorsOrIndexedSlices, combineMixed, concatenateSlices } from './aggregate-slices.js';

/** Rows of two elements at the given indices of a dense tensor of four rows. */
function slices(rows: readonly number[], indices: readonly number[], device = ''): IndexedSlices {
  const values = tensor(rows, { shape: [indices.length, 2], device });
  return new IndexedSlices(values, Int32Array.from(indices), [4, 2]);
}

const dense = tensor([1, 1, 1, 1, 1, 1, 1, 1], { shape: [4, 2] });

describe('aggregateTensorsOrIndexedSlices', () => {
  const never = () => {
    throw new Error('the accumulation function was called');
  };

  it('passes dense values to the accumulation function, in order', () => {
    const accumulate = vi.fn((tensors: readonly Tensor[]) => tensors[1] as Tensor);
    const [a, b] = [tensor([1]), tensor([2])];
    expect(aggregateTensorsOrIndexedSlices([a, b], accumulate)).toBe(b);
    expect(accumulate.mock.calls).toEqual([[[a, b]]]);
  });

  it('returns a single sparse value itself', () => {
    const one = slices([1, 2], [3]);
    expect(aggregateTensorsOrIndexedSlices([one], never)).toBe(one);
  });

  it('concatenates sparse values and keeps duplicate indices', () => {
    const sum = aggregateTensorsOrIndexedSlices([slices([1, 2, 3, 4], [3, 0]), slices([5, 6], [3])], never);
    expect(sum).toEqual(slices([1, 2, 3, 4, 5, 6], [3, 0, 3]));
  });

  it('ignores undefined values', () => {
    const one = slices([1, 2], [3]);
    expect(aggregateTensorsOrIndexedSlices([undefined, one, undefined], never)).toBe(one);
    expect(aggregateTensorsOrIndexedSlices([undefined, one, one], never)).toEqual(slices([1, 2, 1, 2], [3, 3]));
  });

  it('adds sparse and dense values and returns a dense value', () => {
    const sum = aggregateTensorsOrIndexedSlices([slices([1, 2, 10, 20], [1, 1]), dense, slices([5, 6], [3])], never);
    expect(sum).toEqual(tensor([1, 1, 12, 23, 1, 1, 6, 7], { shape: [4, 2] }));
  });

  it('refuses a dense value whose shape or dtype differs from the sparse value', () => {
    const small = tensor([1, 1], { shape: [1, 2] });
    expect(thrown(() => aggregateTensorsOrIndexedSlices([slices([1, 2], [0]), small], never))).toMatchObject({
      name: 'InvalidArgumentError',
      code: 'ERR_COLL_SHAPE_MISMATCH',
      rank: 1,
    });
    const narrow = zeros('float32', [4, 2]);
    expect(thrown(() => aggregateTensorsOrIndexedSlices([slices([1, 2], [0]), narrow], never))).toMatchObject({
      name: 'InternalError',
      code: 'ERR_COLL_DTYPE_MISMATCH',
      rank: 1,
    });
  });

  it('refuses to add a sparse value without a dense shape to a dense value', () => {
    const open = new IndexedSlices(tensor([1, 2], { shape: [1, 2] }), new Int32Array(1));
    expect(thrown(() => aggregateTensorsOrIndexedSlices([open, dense], never))).toMatchObject({
      name: 'ValueError',
      message: expect.stringContaining('denseShape'),
    });
  });
});

describe('concatenateSlices', () => {
  it('uses the device and the dense shape of the first value', () => {
    const open = new IndexedSlices(tensor([3, 4], { shape: [1, 2] }), new Int32Array(1));
    const joined = concatenateSlices([slices([1, 2], [3], 'cpu:1'), open]);
    expect([joined.device, joined.denseShape]).toEqual(['cpu:1', [4, 2]]);
    expect(concatenateSlices([open, slices([1, 2], [3])]).denseShape).toBeUndefined();
  });

  it('converts indices to int64 if their dtypes differ, and keeps a common dtype', () => {
    const values = tensor([1], { shape: [1] });
    const [a, b] = [new IndexedSlices(values, Uint8Array.of(7)), new IndexedSlices(values, Int32Array.of(8))];
    expect(concatenateSlices([a, b]).indices).toEqual(tensor(BigInt64Array.of(7n, 8n)));
    expect(concatenateSlices([a, a]).indices).toEqual(tensor(Uint8Array.of(7, 7)));
  });

  it('concatenates values without rows', () => {
    expect(concatenateSlices([slices([], []), slices([1, 2], [3]), slices([], [])])).toEqual(slices([1, 2], [3]));
  });

  it('refuses an empty list', () => {
    expect(thrown(() => concatenateSlices([]))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
  });

  it('refuses rows of different shapes', () => {
    const wide = new IndexedSlices(zeros('float64', [1, 3]), new Int32Array(1));
    expect(thrown(() => concatenateSlices([slices([1, 2], [0]), wide]))).toMatchObject({
      name: 'InvalidArgumentError',
      code: 'ERR_COLL_SHAPE_MISMATCH',
      rank: 1,
      message: expect.stringContaining('rows of shape [2]'),
    });
  });

  it('refuses rows of different dtypes', () => {
    const narrow = new IndexedSlices(zeros('float32', [1, 2]), new Int32Array(1), [4, 2]);
    expect(thrown(() => concatenateSlices([slices([1, 2], [0]), narrow]))).toMatchObject({
      name: 'InternalError',
      code: 'ERR_COLL_DTYPE_MISMATCH',
      rank: 1,
    });
  });
});

describe('combineMixed', () => {
  const half = (...elements: readonly number[]) => tensor(elements, { dtype: 'float16', shape: [elements.length] });

  it('sums 16-bit floats in float32 and rounds once, including duplicate indices', () => {
    const twice = new IndexedSlices(half(2048, 1, 1), new Int32Array(3), [1]);
    const once = new IndexedSlices(half(1), new Int32Array(1), [1]);
    expect(toNumbers(combineMixed('sum', [half(1), twice, once]))).toEqual([2052]);
    // In float16 the sum would be infinite before it is divided.
    const large = new IndexedSlices(half(60000), new Int32Array(1), [1]);
    expect(toNumbers(combineMixed('mean', [half(60000), large]))).toEqual([60000]);
  });

  it('returns floats for the mean of integers', () => {
    const ints = (...elements: readonly number[]) => tensor(elements, { dtype: 'int16', shape: [elements.length] });
    const mean = combineMixed('mean', [new IndexedSlices(ints(3), Int32Array.of(1), [2]), ints(1, 1)]);
    expect(mean).toEqual(tensor([0.5, 2], { dtype: 'float32', shape: [2] }));
  });

  it('refuses slices that do not fit the dense value, and names their replica', () => {
    const [fits, far] = [slices([1, 2], [0]), slices([1, 2], [7])];
    expect(thrown(() => combineMixed('sum', [dense, fits, far]))).toMatchObject({
      name: 'ValueError',
      rank: 2,
      message: 'index 7 of replica 2 is outside denseShape [4,2]',
    });
    const open = new IndexedSlices(tensor([1, 2], { shape: [1, 2] }), new Int32Array(1));
    expect(thrown(() => combineMixed('sum', [dense, open]))).toMatchObject({
      rank: 1,
      message: expect.stringContaining('there is none on replica 1'),
    });
    const other = new IndexedSlices(tensor([1, 2], { shape: [1, 2] }), new Int32Array(1), [5, 2]);
    expect(thrown(() => combineMixed('sum', [dense, other]))).toMatchObject({
      code: 'ERR_COLL_SHAPE_MISMATCH',
      rank: 1,
    });
  });

  it('refuses to combine a float16 value with a bfloat16 value', () => {
    const brain = new IndexedSlices(tensor([1], { dtype: 'bfloat16' }), new Int32Array(1), [1]);
    expect(thrown(() => combineMixed('sum', [half(1), brain]))).toMatchObject({ code: 'ERR_COLL_DTYPE_MISMATCH' });
  });
});

import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { thrown } from '../test/thrown.js';
import { addN } from './arithmetic.js';
import { Mirrored, PerReplica } from './distributed-values.js';
import { toNumbers } from './element.js';
import { IndexedSlices } from './indexed-slices.js';
import {
  aggregateTensorsOrIndexedSlices,
  concatenateSlices,
  copyToDevice,
  densify,
  divideByN,
  isIndexedSlices,
  splitBySparsity,
  stitchValues,
} from './sparse.js';
import { type Tensor, tensor, zeros } from './tensor.js';

/** Rows of two elements at the given indices of a dense tensor of four rows. */
function slices(rows: readonly number[], indices: readonly number[], device = ''): IndexedSlices {
  const values = tensor(rows, { shape: [indices.length, 2], device });
  return new IndexedSlices(values, Int32Array.from(indices), [4, 2]);
}

const dense = tensor([1, 1, 1, 1, 1, 1, 1, 1], { shape: [4, 2] });

describe('isIndexedSlices', () => {
  it('is true for slices, and for distributed values all of whose components are', () => {
    const [a, b] = [slices([1, 2], [0]), slices([3, 4], [1])];
    expect([a, new PerReplica([a, b]), new Mirrored([a])].map(isIndexedSlices)).toEqual([true, true, true]);
  });

  it('counts a mixed value, and one without components, as dense', () => {
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

describe('aggregateTensorsOrIndexedSlices', () => {
  const never = () => {
    throw new Error('the accumulation function was called');
  };

  it('hands dense values to the accumulation function, in order', () => {
    const accumulate = vi.fn((tensors: readonly Tensor[]) => tensors[1] as Tensor);
    const [a, b] = [tensor([1]), tensor([2])];
    expect(aggregateTensorsOrIndexedSlices([a, b], accumulate)).toBe(b);
    expect(accumulate.mock.calls).toEqual([[[a, b]]]);
  });

  it('gives a single sparse value back as it is', () => {
    const one = slices([1, 2], [3]);
    expect(aggregateTensorsOrIndexedSlices([one], never)).toBe(one);
  });

  it('puts sparse values one after the other, with duplicated indices left as they are', () => {
    const sum = aggregateTensorsOrIndexedSlices([slices([1, 2, 3, 4], [3, 0]), slices([5, 6], [3])], never);
    expect(sum).toEqual(slices([1, 2, 3, 4, 5, 6], [3, 0, 3]));
  });

  it('drops values that are not there', () => {
    const one = slices([1, 2], [3]);
    expect(aggregateTensorsOrIndexedSlices([undefined, one, undefined], never)).toEqual(one);
    expect(aggregateTensorsOrIndexedSlices([undefined, one, one], never)).toEqual(slices([1, 2, 1, 2], [3, 3]));
  });

  it('adds sparse and dense values up to a dense one', () => {
    const sum = aggregateTensorsOrIndexedSlices([slices([1, 2, 10, 20], [1, 1]), dense, slices([5, 6], [3])], never);
    expect(sum).toEqual(tensor([1, 1, 12, 23, 1, 1, 6, 7], { shape: [4, 2] }));
  });

  it('refuses a dense value of another shape or dtype than the sparse one has', () => {
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

  it('refuses to add a sparse value without a dense shape to a dense one', () => {
    const open = new IndexedSlices(tensor([1, 2], { shape: [1, 2] }), new Int32Array(1));
    expect(thrown(() => aggregateTensorsOrIndexedSlices([open, dense], never))).toMatchObject({
      name: 'ValueError',
      message: expect.stringContaining('denseShape'),
    });
  });
});

describe('concatenateSlices', () => {
  it('takes the device and the dense shape of the first', () => {
    const open = new IndexedSlices(tensor([3, 4], { shape: [1, 2] }), new Int32Array(1));
    const joined = concatenateSlices([slices([1, 2], [3], 'cpu:1'), open]);
    expect([joined.device, joined.denseShape]).toEqual(['cpu:1', [4, 2]]);
    expect(concatenateSlices([open, slices([1, 2], [3])]).denseShape).toBeUndefined();
  });

  it('makes indices int64 where they differ in type, and leaves them where they do not', () => {
    const values = tensor([1], { shape: [1] });
    const [a, b] = [new IndexedSlices(values, Uint8Array.of(7)), new IndexedSlices(values, Int32Array.of(8))];
    expect(concatenateSlices([a, b]).indices).toEqual(tensor(BigInt64Array.of(7n, 8n)));
    expect(concatenateSlices([a, a]).indices).toEqual(tensor(Uint8Array.of(7, 7)));
  });

  it('joins values without rows', () => {
    expect(concatenateSlices([slices([], []), slices([1, 2], [3]), slices([], [])])).toEqual(slices([1, 2], [3]));
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

describe('densify', () => {
  it('adds up rows of the same index and leaves all others zero', () => {
    expect(densify(slices([1, 2, 3, 4, 10, 20], [2, 0, 2], 'cpu:1'))).toEqual(
      tensor([3, 4, 0, 0, 11, 22, 0, 0], { shape: [4, 2], device: 'cpu:1' }),
    );
  });

  it('agrees with a sum of rows one by one', () => {
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

  it.each(['float16', 'bfloat16'] as const)('carries %s in float32 and rounds once', (dtype) => {
    // One more than the largest number up to which every integer is there, five times.
    const large = dtype === 'float16' ? 2048 : 256;
    const values = tensor([large, 1, 1, 1, 1], { dtype, shape: [5] });
    expect(toNumbers(densify(new IndexedSlices(values, new Int32Array(5), [1])))).toEqual([large + 4]);
  });

  it('needs a dense shape', () => {
    const open = new IndexedSlices(tensor([1]), new Int32Array(1));
    expect(thrown(() => densify(open))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
  });

  it.each([-1, 4])('refuses the index %i of four rows', (index) => {
    expect(thrown(() => densify(slices([1, 2], [index])))).toMatchObject({
      name: 'ValueError',
      message: `index ${index} is outside of denseShape [4,2]`,
    });
  });
});

describe('divideByN', () => {
  it('divides a dense value truly', () => {
    expect(divideByN(tensor([1, 3], { dtype: 'int32' }), 2)).toEqual(tensor([0.5, 1.5]));
  });

  it('divides the values of a sparse one and leaves its indices', () => {
    expect(divideByN(slices([1, 3], [2]), 2)).toEqual(slices([0.5, 1.5], [2]));
  });
});

describe('copyToDevice', () => {
  it('copies a dense value', () => {
    const copy = copyToDevice(dense, 'cpu:4') as Tensor;
    expect(copy).toEqual({ ...dense, device: 'cpu:4' });
    expect(copy.data).not.toBe(dense.data);
  });

  it('copies a sparse value part by part', () => {
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

  it('leaves a dense shape open that was', () => {
    const copy = copyToDevice(new IndexedSlices(tensor([1]), new Int32Array(1)), 'cpu:4') as IndexedSlices;
    expect(copy.denseShape).toBeUndefined();
  });
});

describe('splitBySparsity and stitchValues', () => {
  it('sort values and keep their positions', () => {
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

  it('notice a position that was filled with undefined', () => {
    expect(() =>
      stitchValues<unknown>([
        [[undefined], [0]],
        [['b'], [0]],
      ]),
    ).toThrow('position 0 is filled twice');
  });
});

it('sums half types of dense and sparse values in float32, and rounds once', () => {
  const half = (value: number) => tensor([value], { dtype: 'float16' });
  const one = new IndexedSlices(half(1), new Int32Array(1), [1]);
  const sum = aggregateTensorsOrIndexedSlices([half(2048), one, half(1), half(1), half(1)], addN) as Tensor;
  expect(toNumbers(sum)).toEqual([2052]);
});

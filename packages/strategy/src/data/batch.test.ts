import { IndexedSlices, PerReplica, type Structure, tensor, tensorSymbol } from '@coll/core';
import { flatten } from '@coll/core/internal';
import { describe, expect, it } from 'vitest';
import { type Batch, batchesOf, batchSizeOf, dispose } from './batch.js';

const only = (value: unknown) => batchesOf(value) as Batch;

describe('the batched leaves of a dataset element', () => {
  it('are typed arrays, tensors and lists of plain values', () => {
    const element = {
      x: tensor(new Float32Array(6), { shape: [3, 2] }),
      rest: [new Int8Array(3), ['a', 'b', 'c'], { y: [1n, null, true] }],
    };
    const sizes = flatten(batchesOf(element)).map(({ size }) => size);
    expect(sizes).toEqual([3, 3, 3, 3]);
    expect(batchSizeOf(batchesOf(element))).toBe(3);
  });

  it('are the innermost lists of nested lists', () => {
    expect(
      flatten(
        batchesOf([
          [1, 2],
          [3, 4],
        ]),
      ).map(({ value }) => value),
    ).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  it.each([
    ['a number', 5],
    ['text', 'five'],
    ['a scalar tensor', tensor(5)],
    ['a number beside a batch', { x: [1, 2], y: 2 }],
    ['nothing', undefined],
    ['a distributed value', new PerReplica([Float32Array.of(1), Float32Array.of(2)])],
    ['slices', new IndexedSlices(tensor(Float32Array.of(1)), Int32Array.of(0), [4])],
    ['a date', new Date(0)],
    ['a DataView', new DataView(new ArrayBuffer(8))],
    ['different first axes', { x: [1, 2], y: Float32Array.of(1) }],
    ['an empty structure', { x: {} }],
    ['a list of functions', [() => 1]],
    ['a list of objects', [new Date(0)]],
  ])('cannot be %s', (_, element) => {
    expect(() => batchSizeOf(batchesOf(element) as Structure<Batch>)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
  });
});

/** A test double of a TensorFlow.js tensor. */
class TfTensor {
  readonly dataId = {};
  readonly dtype = 'float32';
  disposed = 0;
  readonly shape: readonly number[];

  constructor(shape: readonly number[]) {
    this.shape = shape;
  }

  async data() {
    return new Float32Array(1);
  }

  slice() {
    return this;
  }

  dispose() {
    this.disposed += 1;
  }
}

it.each([
  ['5', 5],
  ['null', null],
  ['an object (Date)', new Date(0)],
  ['a tensor without dimensions', tensor(5)],
  ['a tensor without dimensions', new TfTensor([])],
])('an element that contains %s is refused with a message that names it', (held, element) => {
  const message = `an element of the dataset contains ${held}, which cannot be split along the first axis: batch the dataset`;
  expect(() => batchSizeOf(batchesOf(element))).toThrow(message);
  expect(() => only(element).part(0, 1)).toThrow(message);
});

describe('dispose()', () => {
  it('disposes a tensor of TensorFlow.js, and ignores objects that lack a field of such a tensor', () => {
    const whole = new TfTensor([1]);
    dispose({ x: [whole] });
    expect(whole.disposed).toBe(1);
    for (const field of ['dataId', 'shape', 'slice']) {
      const odd = Object.assign(new TfTensor([1]), { [field]: undefined });
      dispose(odd);
      expect(odd.disposed).toBe(0);
    }
    expect(dispose(Object.assign(new TfTensor([1]), { dispose: undefined }))).toBeUndefined();
    expect(dispose(null)).toBeUndefined();
  });
});

describe('a slice of a batch', () => {
  it('cannot be taken of a scalar', () => {
    expect(() => only(3).part(0, 1)).toThrow(expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }));
  });

  it('of a tensor consists of rows in the same memory, on the device of the replica', () => {
    const data = Int16Array.of(1, 2, 3, 4, 5, 6);
    const part = only(tensor(data, { shape: [3, 1, 2], device: 'cpu:7' })).part(1, 3, 'cpu:1');
    expect(part).toEqual({ data: Int16Array.of(3, 4, 5, 6), dtype: 'int16', shape: [2, 1, 2], device: 'cpu:1' });
    expect((part as { data: Int16Array }).data.buffer).toBe(data.buffer);
  });

  it('keeps the device of a tensor if no device is given', () => {
    expect(only(tensor(Float32Array.of(1), { device: 'cpu:7' })).part(0, 1)).toMatchObject({ device: 'cpu:7' });
  });

  it('of half floats keeps the dtype', () => {
    const half = tensor([1, 2, 3], { dtype: 'bfloat16' });
    expect(only(half).part(2, 3)).toMatchObject({ dtype: 'bfloat16', data: half.data.subarray(2) });
  });

  it('of an object that carries a tensor is a tensor', () => {
    const carrier = { [tensorSymbol]: () => tensor(Float32Array.of(1, 2, 3, 4), { shape: [2, 2] }) };
    expect(only(carrier).part(1, 2)).toMatchObject({ data: Float32Array.of(3, 4), shape: [1, 2] });
  });

  it('of a typed array is a view of the same memory, and of a list a list', () => {
    const array = BigInt64Array.of(1n, 2n, 3n);
    const part = only(array).part(1, 3) as BigInt64Array;
    expect(part).toEqual(BigInt64Array.of(2n, 3n));
    expect(part.buffer).toBe(array.buffer);
    expect(only(['a', 'b', 'c']).part(0, 2)).toEqual(['a', 'b']);
  });

  it('may be empty', () => {
    expect(only(tensor(new Float32Array(6), { shape: [2, 3] })).part(2, 2)).toMatchObject({ shape: [0, 3] });
    expect(only(tensor(new Float32Array(0), { shape: [2, 0] })).part(1, 2)).toMatchObject({ shape: [1, 0] });
  });
});

describe('a tensor of another library', () => {
  /** A second test double of a TensorFlow.js tensor, which records its calls. */
  function foreign(shape: readonly number[], calls: unknown[]) {
    return {
      dataId: {},
      shape,
      dtype: 'float32',
      data: async () => new Float32Array(),
      slice: (...range: readonly number[]) => calls.push(['slice', ...range]) && foreign([range[1] as number], calls),
      dispose: () => calls.push(['dispose']),
    };
  }

  it('is sliced with its own method, and disposed wherever it occurs in a structure', () => {
    const calls: unknown[] = [];
    expect(only(foreign([5, 2], calls)).part(1, 4, 'cpu:0')).toMatchObject({ shape: [3] });
    dispose({ a: [foreign([1], calls)], b: new PerReplica([foreign([1], calls), 4]), c: Float32Array.of(1) });
    expect(calls).toEqual([['slice', 1, 3], ['dispose'], ['dispose']]);
    expect(only(foreign([], calls)).size).toBe(undefined);
  });
});

import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { slice } from '../values/concatenate.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { reshape, type Tensor, tensor, zeros } from '../values/tensor.js';
import { filled, requireOneEach, resultsFor, writtenTo } from './results.js';

const values = [tensor([1, 2], { dtype: 'int32', device: 'cpu:1' }), tensor([3], { dtype: 'float32', shape: [1, 1] })];

function expectRefused(into: readonly Tensor[], message: string): void {
  expect(thrown(() => resultsFor('sum', values, into))).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_BUFFER',
    message: expect.stringContaining(message),
  });
}

describe('resultsFor', () => {
  it('refuses a result that overlaps another value', () => {
    const [first, second] = [tensor(Float32Array.of(1)), tensor(Float32Array.of(2))];
    expect(thrown(() => resultsFor('sum', [first, second], [second, first]))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_BUFFER',
      message: expect.stringContaining('the memory of another value'),
    });
    expect(resultsFor('sum', [first, second], [first, second])).toEqual([first, second]);
  });

  it('allocates memory with the shapes and devices of the values', () => {
    const results = resultsFor('sum', values, undefined);
    expect(results).toEqual([zeros('int32', [2], 'cpu:1'), zeros('float32', [1, 1])]);
  });

  it.each([
    ['mean', ['float64', 'float32']],
    ['max', ['int32', 'float32']],
    [undefined, ['int32', 'float32']],
  ] as const)('allocates results of the dtype that the op %s returns', (op, dtypes) => {
    expect(resultsFor(op, values, undefined).map(({ dtype }) => dtype)).toEqual(dtypes);
  });

  it('uses the memory passed as `into`, which may be the memory of the values', () => {
    const into = [zeros('int32', [2]), zeros('float32', [1, 1])];
    expect(resultsFor('sum', values, into).every((result, index) => result === into[index])).toBe(true);
    expect(resultsFor('sum', values, values)).toEqual(values);
    expect(resultsFor('sum', [], [])).toEqual([]);
  });

  it('refuses `into` memory with a wrong number of results, or of another dtype or shape', () => {
    const [ints, floats] = [zeros('int32', [2]), zeros('float32', [1, 1])];
    expectRefused([ints], 'must have one result per value, got 1 results for 2 values');
    expectRefused([ints, floats, floats], 'must have one result per value, got 3 results for 2 values');
    expectRefused([floats, ints], 'result 0 must be int32 of shape [2], got float32 of shape [1,1]');
    expectRefused([ints, reshape(floats, [1])], 'result 1 must be float32 of shape [1,1], got float32 of shape [1]');
    expect(thrown(() => resultsFor('mean', values, [ints, floats]))).toMatchObject({
      message: expect.stringContaining('result 0 must be float64'),
    });
  });

  it('accepts results next to other values in a buffer, and refuses results that overwrite another value', () => {
    const memory = zeros('int8', [64]);
    const at = (begin: number) => slice(memory, begin, begin + 8);
    const into = [at(32), at(0), at(16)];
    expect(resultsFor('sum', [at(8), at(24), at(48)], into)).toEqual(into);
    expect(resultsFor('sum', [at(32), at(0), at(56)], into)).toEqual(into);
    for (const offset of [0, 4, 15, 20, 33]) {
      const values = [at(8), at(40), at(offset)];
      expect(thrown(() => resultsFor('sum', values, into))).toMatchObject({ code: 'ERR_COLL_BUFFER' });
    }
  });

  it('refuses results that share memory', () => {
    const memory = zeros('int8', [16]);
    const rows = [zeros('int8', [4]), zeros('int8', [4])];
    const shared = [slice(memory, 0, 4), slice(memory, 3, 7)];
    const message = 'into: the same buffer is passed twice; every result needs memory of its own';
    expect(() => resultsFor('sum', rows, shared)).toThrow(message);
    expect(() => resultsFor('sum', rows, shared.toReversed())).toThrow(message);
    expect(() => resultsFor('sum', rows, [slice(memory, 0, 4), slice(memory, 4, 8)])).not.toThrow();
  });

  it('accepts empty results inside the memory of other results', () => {
    const memory = zeros('int8', [16]);
    const rows = [zeros('int8', [8]), zeros('int8', [0]), zeros('int8', [2])];
    const empty = slice(memory, 4, 4);
    expect(() => resultsFor('sum', rows, [slice(memory, 0, 8), empty, slice(memory, 8, 10)])).not.toThrow();
    expect(() => resultsFor('sum', rows, [slice(memory, 0, 8), empty, slice(memory, 6, 8)])).toThrow('passed twice');
  });
});

describe('writtenTo', () => {
  it('copies dense results to their memory and returns sparse results unchanged', () => {
    const slices = new IndexedSlices(Float32Array.of(1), Int32Array.of(0));
    const memory = [zeros('float32', [1]), zeros('float32', [1])];
    const dense = tensor(Float32Array.of(1));
    // A value that is sparse on this replica has a dense result if other replicas contribute dense values.
    const joined = tensor(Float32Array.of(7));
    const results = [tensor(Float32Array.of(5)), slices, joined, tensor(Float32Array.of(6))];
    const written = writtenTo(memory, results, [dense, slices, slices, dense]);
    expect(written).toEqual([memory[0], slices, joined, memory[1]]);
    expect(memory.map(({ data }) => data[0])).toEqual([5, 6]);
  });
});

describe('requireOneEach, for one result per value,', () => {
  const memory = zeros('int8', [16]);

  it('accepts separate memory for each result', () => {
    expect(() => requireOneEach([slice(memory, 0, 4), slice(memory, 4, 8), zeros('int8', [1])], 3)).not.toThrow();
    expect(() => requireOneEach([], 0)).not.toThrow();
  });

  it.each([
    ['too few', [slice(memory, 0, 4)], 'into: must have one result per value, got 1 results for 2 values'],
    [
      'too many',
      [0, 1, 2].map((at) => slice(memory, at, at + 1)),
      'into: must have one result per value, got 3 results for 2 values',
    ],
    ['overlapping', [slice(memory, 3, 7), slice(memory, 0, 4)], 'into: the same buffer is passed twice'],
  ])('refuses %s results', (_, into, message) => {
    expect(thrown(() => requireOneEach(into, 2))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_BUFFER',
      message: expect.stringContaining(message),
    });
  });
});

describe('filled()', () => {
  it('copies the elements to the target', () => {
    const target = zeros('int8', [2]);
    expect(filled(target, tensor(Int8Array.of(1, 2)))).toBe(target);
    expect(target.data).toEqual(Int8Array.of(1, 2));
    expect(filled(target, target).data).toEqual(Int8Array.of(1, 2));
  });

  it('lets the memory of a device copy elements, unless they are already there', () => {
    const taken: Tensor[] = [];
    const onDevice = () => ({ shape: [1], memory: { set: (from: Tensor) => taken.push(from) } }) as unknown as Tensor;
    const [target, from] = [onDevice(), onDevice()];
    expect(filled(target, from)).toBe(target);
    expect(filled(target, { ...target })).toBe(target);
    expect(taken).toEqual([from]);
    expect(taken[0]).toBe(from);
  });
});

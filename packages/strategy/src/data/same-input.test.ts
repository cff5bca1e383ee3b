import { tensor } from '@coll/core';
import { describe, expect, it, vi } from 'vitest';
import { batchesOf } from './batch.js';
import { type MaxOverReaders, Readers } from './readers.js';
import { checksumOf, SameInput } from './same-input.js';

const sumOf = (element: unknown) => checksumOf(batchesOf(element));

/** A test double of a TensorFlow.js tensor. */
const foreign = (...numbers: readonly number[]) => ({
  ...{ dataId: {}, shape: [numbers.length], dtype: 'float32', data: async () => Float32Array.from(numbers) },
  slice: () => {},
  dispose: () => {},
});

describe('checksumOf', () => {
  it('is the same for equal numbers in a typed array, a view of an array or a tensor', async () => {
    const sum = await sumOf(Float32Array.of(1, 2));
    expect(await sumOf(tensor(Float32Array.of(1, 2)))).toBe(sum);
    expect(await sumOf(foreign(1, 2))).toBe(sum);
    expect(await sumOf(new Float32Array([0, 1, 2, 3]).subarray(1, 3))).toBe(sum);
  });

  it.each([
    [
      ['a', 'b'],
      ['a', 'c'],
    ],
    [['a,b'], ['a', 'b']],
    [[1n], [2n]],
    [
      [1n, 'a'],
      [1n, 'b'],
    ],
    [[true], [false]],
    [Float32Array.of(1), Float32Array.of(2)],
    [foreign(1), foreign(2)],
    [
      { x: [1], y: [2] },
      { x: [1], y: [3] },
    ],
  ])('distinguishes %o from %o', async (one, other) => {
    expect(await sumOf(one)).not.toBe(await sumOf(other));
  });

  it('is a whole number below 2 ** 32', async () => {
    const sum = await sumOf([1, 2, 3]);
    expect(Number.isInteger(sum) && sum >= 0 && sum < 2 ** 32).toBe(true);
  });
});

describe('the first batches of the readers of one dataset', () => {
  const step = { done: false, value: 1 };
  const check = (checksum: number | undefined, max: MaxOverReaders) =>
    new SameInput(new Readers({ what: 'replica', max }), { checksum }).agree(Promise.resolve(step));

  it('are compared by the highest and the lowest checksum, where -1 stands for no batch', async () => {
    const asked: unknown[] = [];
    const max: MaxOverReaders = async (numbers) => {
      asked.push([...numbers]);
      return numbers;
    };
    expect(await check(7, max)).toBe(step);
    await check(undefined, max);
    expect(asked).toEqual([
      [7, -7],
      [-1, 1],
    ]);
  });

  it('are compared once in each reading', async () => {
    const max = vi.fn((numbers: Float64Array | Uint8Array) => numbers);
    const agreement = new SameInput(new Readers({ what: 'replica', max }), { checksum: 7 });
    for (const each of [step, step]) expect(await agreement.agree(Promise.resolve(each))).toBe(step);
    expect(max).toHaveBeenCalledOnce();
  });

  it('must have equal checksums', async () => {
    await expect(check(7, async () => Float64Array.of(9, -7))).rejects.toMatchObject({
      ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'input' },
      message: expect.stringMatching(/^replicas read different first batches of one dataset/),
    });
  });
});

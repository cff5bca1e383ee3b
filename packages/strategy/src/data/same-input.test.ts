import { tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { batchesOf } from './batch.js';
import { checksumOf, requireSameInput } from './same-input.js';

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

describe('requireSameInput', () => {
  it('asks for the highest and the lowest checksum of all readers, where -1 stands for no batch', async () => {
    const asked: unknown[] = [];
    const max = async (numbers: Float64Array) => {
      asked.push([...numbers]);
      return numbers;
    };
    await requireSameInput({ checksum: 7 }, { max, readers: 'workers' });
    await requireSameInput({ checksum: undefined }, { max, readers: 'workers' });
    expect(asked).toEqual([
      [7, -7],
      [-1, 1],
    ]);
  });

  it('refuses different checksums, and names the readers', async () => {
    const max = async () => Float64Array.of(9, -7);
    await expect(requireSameInput({ checksum: 7 }, { max, readers: 'replicas' })).rejects.toMatchObject({
      ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'input' },
      message: expect.stringMatching(/^replicas read different first batches of one dataset/),
    });
  });
});

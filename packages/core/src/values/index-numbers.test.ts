import { describe, expect, it } from 'vitest';
import { asNumbers, firstOutside, pick } from './index-numbers.js';
import { tensor } from './tensor.js';

describe('asNumbers', () => {
  it('returns integers of up to 32 bits without a copy', () => {
    const data = Int16Array.of(-1, 5);
    expect(asNumbers(tensor(data))).toBe(data);
  });

  it('reads positive and negative 64-bit integers, also from an offset of a buffer', () => {
    const signed = BigInt64Array.of(9n, -1n, -(2n ** 63n), 2n ** 53n - 1n, 2n ** 32n, -(2n ** 32n) + 7n);
    expect(Array.from(asNumbers(tensor(signed.subarray(1))))).toEqual(Array.from(signed.subarray(1), Number));
    const unsigned = BigUint64Array.of(0n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 63n);
    expect(Array.from(asNumbers(tensor(unsigned)))).toEqual(Array.from(unsigned, Number));
  });
});

it('firstOutside finds the first index that is out of range', () => {
  expect([[], [0, 2], [0, 3, -1], [0, 1, -1]].map((numbers) => firstOutside(numbers, 3))).toEqual([-1, -1, 1, 2]);
});

describe('pick()', () => {
  it('copies integers at the given positions to new memory', () => {
    const from = tensor(Uint8Array.of(10, 20, 30), { device: 'cpu:1' });
    expect(pick(from, tensor(BigInt64Array.of(2n, 0n, 2n)))).toEqual(
      tensor(Uint8Array.of(30, 10, 30), { device: 'cpu:1' }),
    );
  });

  it('keeps all bits of 64-bit integers', () => {
    const from = tensor(BigUint64Array.of(2n ** 64n - 1n, 2n ** 53n + 1n));
    expect(pick(from, tensor(Int32Array.of(1, 0, 1))).data).toEqual(
      BigUint64Array.of(2n ** 53n + 1n, 2n ** 64n - 1n, 2n ** 53n + 1n),
    );
  });
});

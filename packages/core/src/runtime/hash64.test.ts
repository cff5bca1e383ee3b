import { describe, expect, it } from 'vitest';
import { tensor } from '../values/tensor.js';
import { hash64 } from './hash64.js';

const bytes = Uint8Array.from({ length: 23 }, (_, index) => index * 11);

describe('hash64', () => {
  it('changes both words with any bit', () => {
    const [first, second] = hash64(tensor(bytes));
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const changed = bytes.slice();
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      const [a, b] = hash64(tensor(changed));
      expect([a === first, b === second]).toEqual([false, false]);
    }
  });

  it('changes with the signs of two floats, and with the order of elements', () => {
    const hashes = [
      [1, 2, 3],
      [-1, -2, 3],
      [1, -2, -3],
      [2, 1, 3],
      [-0, 2, 3],
    ].map((values) => hash64(tensor(new Float32Array(values))).join());
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('depends on the bytes only, wherever they lie and however they are divided into words', () => {
    const moved = new Uint8Array(32);
    moved.set(bytes, 3);
    expect(hash64(tensor(moved.subarray(3, 26)))).toEqual(hash64(tensor(bytes)));
    const [head, rest] = [tensor(bytes.slice(0, 8)), tensor(bytes.slice(8))];
    expect(hash64([head, rest])).toEqual(hash64(tensor(bytes)));
  });
});

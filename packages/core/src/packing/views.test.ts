import { describe, expect, it } from 'vitest';
import { tensor } from '../values/tensor.js';
import { Views } from './views.js';

const whole = tensor([1, 2, 3, 4], { device: 'cpu:1' });

describe('Views', () => {
  it('returns the tensor itself for all of its elements', () => {
    expect(new Views().of(whole, 0, 4)).toBe(whole);
  });

  it('returns a one-dimensional view of a range in the same memory', () => {
    for (const [begin, end] of [
      [0, 3],
      [1, 4],
      [1, 3],
    ] as const) {
      const part = new Views().of(whole, begin, end);
      expect(part).toEqual(tensor(whole.data.slice(begin, end), { device: 'cpu:1' }));
      expect(part.data.buffer).toBe(whole.data.buffer);
    }
  });

  it('caches views per range and per tensor', () => {
    const views = new Views();
    const { data } = views.of(whole, 1, 3);
    expect(views.of(whole, 1, 3).data).toBe(data);
    expect(views.of(whole, 1, 2).data).toHaveLength(1);
    expect(views.of(whole, 2, 3).data).toEqual(Float64Array.of(3));
    expect(views.of(tensor([5, 6, 7, 8]), 1, 3).data).toEqual(Float64Array.of(6, 7));
    expect(views.of(whole, 1, 3).data).toBe(data);
  });

  it('evicts old views if a tensor is split in ever new ways', () => {
    const large = tensor(new Float64Array(100));
    const views = new Views();
    const { data } = views.of(large, 0, 99);
    for (let end = 1; end < 64; end++) views.of(large, 0, end);
    expect(views.of(large, 0, 99).data).toBe(data);
    views.of(large, 0, 64);
    expect(views.of(large, 0, 99).data).not.toBe(data);
  });
});

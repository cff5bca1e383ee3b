import { describe, expect, it } from 'vitest';
import { ExchangeBuffers } from './exchange-buffers.js';

describe('ExchangeBuffers', () => {
  it('gives memory again only for the same dtype, length and number of ranks', () => {
    const buffers = new ExchangeBuffers();
    const first = buffers.take('uint8', 4, 2);
    expect([first.own.shape, first.all.shape]).toEqual([[4], [8]]);
    buffers.giveBack(first);
    for (const other of [buffers.take('int8', 4, 2), buffers.take('uint8', 5, 2), buffers.take('uint8', 4, 3)])
      expect(other).not.toBe(first);
    expect(buffers.take('uint8', 4, 2)).toBe(first);
  });

  it('gives memory to one exchange at a time', () => {
    const buffers = new ExchangeBuffers();
    const first = buffers.take('float64', 1, 2);
    expect(buffers.take('float64', 1, 2)).not.toBe(first);
  });

  it('keeps the latest four buffers, and none of more than a megabyte', () => {
    const buffers = new ExchangeBuffers();
    const taken = [1, 2, 3, 4, 5].map((length) => buffers.take('uint8', length, 2));
    for (const buffer of taken) buffers.giveBack(buffer);
    expect(buffers.take('uint8', 1, 2)).not.toBe(taken[0]);
    expect(buffers.take('uint8', 2, 2)).toBe(taken[1]);
    const large = buffers.take('uint8', 2 ** 20, 2);
    buffers.giveBack(large);
    // `not.toBe` would compare the contents.
    expect(buffers.take('uint8', 2 ** 20, 2) === large).toBe(false);
  });
});

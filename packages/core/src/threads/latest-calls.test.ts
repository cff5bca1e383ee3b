import { describe, expect, it } from 'vitest';
import { LatestCalls } from './latest-calls.js';

const floats = (length: number) => new Float32Array(length);

describe('the latest calls', () => {
  it('have a call that was made before on the same arrays', () => {
    const calls = new LatestCalls();
    const [input, output] = [floats(3), floats(3)];
    expect(calls.has(input, output)).toBe(false);
    expect(calls.has(input, output)).toBe(true);
    expect(calls.has(floats(3), output)).toBe(false);
    expect(calls.has(undefined, input)).toBe(false);
  });

  it('include many small calls of one length, in turn', () => {
    const calls = new LatestCalls();
    const arrays = Array.from({ length: 512 }, () => floats(16));
    expect(arrays.map((array) => calls.has(array, array))).not.toContain(true);
    expect(arrays.map((array) => calls.has(array, array))).not.toContain(false);
  });

  it('include one large call of each length', () => {
    const calls = new LatestCalls();
    const [large, other, larger] = [floats(2 ** 16), floats(2 ** 16), floats(2 ** 17)];
    for (const array of [large, larger]) expect(calls.has(array, array)).toBe(false);
    for (const array of [large, larger]) expect(calls.has(array, array)).toBe(true);
    for (const array of [large, other, large, other]) expect(calls.has(array, array)).toBe(false);
  });

  it('forget the oldest calls of a length, even if their memory was detached', () => {
    const calls = new LatestCalls();
    const first = floats(1024);
    calls.has(first, first);
    structuredClone(first, { transfer: [first.buffer] });
    const arrays = Array.from({ length: 8 }, () => floats(1024));
    for (const array of arrays) calls.has(array, array);
    expect(arrays.map((array) => calls.has(array, array))).not.toContain(false);
    expect(calls.has(first, first)).toBe(false);
  });

  it('forget all', () => {
    const calls = new LatestCalls();
    const array = floats(1);
    calls.has(array, array);
    calls.clear();
    expect(calls.has(array, array)).toBe(false);
  });
});

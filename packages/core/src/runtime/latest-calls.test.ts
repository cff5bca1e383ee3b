import { describe, expect, it } from 'vitest';
import { LatestCalls } from './latest-calls.js';

const floats = (length: number) => new Float32Array(length);
const inPlace = (calls: LatestCalls) => (array: Float32Array) => calls.takeOrAdd(array, array);
const views = (buffer: ArrayBufferLike, count: number) =>
  Array.from({ length: count }, (_, index) => new Float32Array(buffer, 4 * index, 1));

describe('the remembered latest calls', () => {
  it('contain a call that was made before on the same arrays, until it is taken', () => {
    const calls = new LatestCalls();
    const [input, output] = [floats(3), floats(3)];
    expect(calls.takeOrAdd(input, output)).toBe(false);
    expect(calls.takeOrAdd(input, output)).toBe(true);
    expect(calls.takeOrAdd(input, output)).toBe(false);
    expect(calls.takeOrAdd(floats(3), output)).toBe(false);
    expect(calls.takeOrAdd(undefined, input)).toBe(false);
  });

  it('contain many calls on small arrays that are repeated in turn', () => {
    const calls = new LatestCalls();
    const arrays = Array.from({ length: 512 }, () => floats(16));
    expect(arrays.map(inPlace(calls))).not.toContain(true);
    expect(arrays.map(inPlace(calls))).not.toContain(false);
  });

  it('contain all calls on views of one large buffer that are repeated in turn', () => {
    const calls = new LatestCalls();
    const parts = views(new ArrayBuffer(2 ** 20), 161);
    expect(parts.map(inPlace(calls))).not.toContain(true);
    expect(parts.map(inPlace(calls))).not.toContain(false);
  });

  it.each([2 ** 15, 2 ** 20])('contain at most 1024 calls on one buffer of %i bytes', (bytes) => {
    const calls = new LatestCalls();
    const buffer = new ArrayBuffer(bytes);
    const [first, ...others] = views(buffer, 1025);
    if (first) inPlace(calls)(first);
    others.forEach(inPlace(calls));
    expect(first && inPlace(calls)(first)).toBe(false);
    expect(others.slice(-1).map(inPlace(calls))).toEqual([true]);
  });

  it('contain only the latest of the calls that use large memory', () => {
    const calls = new LatestCalls();
    const [large, other] = [floats(2 ** 16), floats(2 ** 16)];
    expect([large, large, large, other, large].map(inPlace(calls))).toEqual([false, true, false, false, false]);
    const [part] = views(other.buffer, 1);
    if (part) for (const array of [part, large]) expect(inPlace(calls)(array)).toBe(false);
    expect(part && inPlace(calls)(part)).toBe(false);
  });

  it('count the memory of inputs too, not only the memory of outputs', () => {
    const calls = new LatestCalls();
    const outputs = [floats(1), floats(1)] as const;
    const inputs = [floats(2 ** 15), floats(2 ** 15)] as const;
    for (const at of [0, 1, 0, 1] as const) expect(calls.takeOrAdd(inputs[at], outputs[at])).toBe(false);
  });

  it('keep calls on small arrays while calls on large arrays are made', () => {
    const calls = new LatestCalls();
    const [small, ...large] = [floats(4), floats(2 ** 16), floats(2 ** 16)] as const;
    expect([small, ...large].map(inPlace(calls))).not.toContain(true);
    expect(inPlace(calls)(small)).toBe(true);
  });

  it('drop the oldest calls on small arrays, even if their memory was detached', () => {
    const calls = new LatestCalls();
    const first = floats(1024);
    inPlace(calls)(first);
    structuredClone(first, { transfer: [first.buffer] });
    const arrays = Array.from({ length: 16 }, () => floats(1024));
    arrays.map(inPlace(calls));
    expect(arrays.map(inPlace(calls))).not.toContain(false);
    expect(inPlace(calls)(first)).toBe(false);
  });

  it('are empty after clear()', () => {
    const calls = new LatestCalls();
    const arrays = [floats(1), floats(2 ** 16)];
    arrays.map(inPlace(calls));
    calls.clear();
    expect(arrays.map(inPlace(calls))).not.toContain(true);
  });
});

import { IndexedSlices, Mirrored, PerReplica, tensor, tensorSymbol } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { getReplicaContext, variable } from './index.js';
import { decode, encode } from './thread-values.js';

const posted = (value: unknown) => decode(structuredClone(encode(value)));

describe('a value posted between threads', () => {
  it.each([
    ['plain data', { a: [1, 'two', null, undefined, true, 10n], b: { c: Number.NaN } }],
    ['tensors', [tensor(Float32Array.of(1, 2), { shape: [2, 1], device: 'cpu:0' }), BigInt64Array.of(1n)]],
    ['values that can be cloned', { date: new Date(5), map: new Map([['x', new Set([1])]]) }],
    ['an empty list', []],
  ])('arrives unchanged: %s', (_, value) => {
    expect(posted(value)).toEqual(value);
  });

  it('keeps the classes of slices and distributed values', () => {
    const slices = new IndexedSlices(Float32Array.of(1), Int32Array.of(0), [4]);
    const shapeless = new IndexedSlices(Float32Array.of(1), Int32Array.of(0));
    const value = { x: new PerReplica([1, { deep: slices }]), y: [new Mirrored([shapeless, shapeless])] };
    const arrived = posted(value) as typeof value;
    expect(arrived).toEqual(value);
    expect(arrived.x).toBeInstanceOf(PerReplica);
    expect(arrived.y[0]).toBeInstanceOf(Mirrored);
    expect(arrived.y[0]?.values[0]).toBeInstanceOf(IndexedSlices);
    expect(arrived.y[0]?.values[0]?.denseShape).toBeUndefined();
  });

  it('arrives as a tensor if it is a tensor carrier', () => {
    const carrier = { [tensorSymbol]: () => Float32Array.of(3), own: () => 'functions cannot be posted' };
    expect(posted([carrier])).toEqual([tensor(Float32Array.of(3))]);
  });

  it('must not be a variable, which stays in its thread', () => {
    expect(() => encode({ deep: [variable(1, { name: 'w' })] })).toThrow(
      expect.objectContaining({
        ...{ name: 'RuntimeError', code: 'ERR_COLL_NOT_CLONEABLE' },
        message: expect.stringContaining('variable "w" cannot be sent to another thread: send the result of read()'),
      }),
    );
  });

  it('must not be a replica context, which stays in its thread', () => {
    expect(() => encode([getReplicaContext()])).toThrow(
      expect.objectContaining({
        ...{ name: 'RuntimeError', code: 'ERR_COLL_NOT_CLONEABLE' },
        message: expect.stringContaining('a replica must return values, not its context'),
      }),
    );
  });

  it('shares shared memory', () => {
    const shared = new Int32Array(new SharedArrayBuffer(4));
    (posted({ shared }) as { shared: Int32Array }).shared[0] = 7;
    expect(shared[0]).toBe(7);
  });
});

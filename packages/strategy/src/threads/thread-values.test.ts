import { IndexedSlices, Mirrored, PerReplica, tensor, tensorSymbol } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { getReplicaContext, variable } from '../index.js';
import { decode, type Encoded, encode, encodeArguments } from './thread-values.js';

const received = ({ value, moved }: Encoded) => decode(structuredClone(value, { transfer: [...moved] }));
const posted = (value: unknown) => received(encode(value));

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

  it.each([
    ['a small array', 8],
    ['a large array', 2 ** 17],
  ])('contains only the bytes of an array, not the rest of its buffer: %s', (_, bytes) => {
    const parts = [1, 2].map((start) =>
      new Uint16Array(new ArrayBuffer(4 * bytes), start * bytes, bytes / 2).fill(start),
    );
    const [part, other] = parts as [Uint16Array, Uint16Array];
    const view = new DataView(other.buffer, other.byteOffset, other.byteLength);
    const value = { part, tensor: tensor(other), view, again: part };
    const arrived = posted(value) as typeof value;
    expect(arrived).toEqual(value);
    const buffers = [arrived.part, arrived.tensor.data, arrived.view].map(({ buffer }) => buffer.byteLength);
    expect(buffers).toEqual([bytes, bytes, bytes]);
    expect(arrived.again).toBe(arrived.part);
    // The arrays of the sender are still there.
    expect(part.buffer.byteLength).toBe(4 * bytes);
  });

  it('arrives as a Uint8Array if it is a Buffer', () => {
    expect(posted(Buffer.from('abc'))).toEqual(Uint8Array.from([97, 98, 99]));
  });
});

function detached(): Float64Array {
  const array = Float64Array.of(1);
  structuredClone(array, { transfer: [array.buffer] });
  return array;
}

/** An array whose buffer has become smaller. */
function outside(): Float64Array {
  const memory = new ArrayBuffer(16, { maxByteLength: 16 } as never) as ArrayBuffer & { resize(bytes: number): void };
  const array = new Float64Array(memory, 8, 1);
  memory.resize(4);
  return array;
}

describe('the arguments of all replicas', () => {
  it('are copied by default, so that replicas can have the same array', () => {
    const array = Float32Array.of(1, 2);
    const arrived = encodeArguments([[array], [array]]).map(received);
    expect(arrived).toEqual([[array], [array]]);
    expect(array).toEqual(Float32Array.of(1, 2));
  });

  it('can be moved, which detaches all their arrays but shared ones', () => {
    const arrays = [Float32Array.of(1), Float32Array.of(2)];
    const shared = new Int32Array(new SharedArrayBuffer(4));
    const arrived = encodeArguments(
      arrays.map((array) => [{ batch: tensor(array) }, shared]),
      true,
    ).map(received);
    expect(arrived).toEqual([1, 2].map((value) => [{ batch: tensor(Float32Array.of(value)) }, shared]));
    expect(arrays.map(({ length }) => length)).toEqual([0, 0]);
  });

  const array = new Float32Array(4);
  it.each<[string, readonly (readonly unknown[])[], RegExp]>([
    ['a part of a buffer', [[array.subarray(1)]], /an array is only a part of its buffer: give each replica its own/],
    ['an array of two replicas', [[array], [array]], /several arguments or replicas use the same buffer/],
    ['two views of one buffer', [[array, new Uint8Array(array.buffer)]], /several arguments or replicas use/],
  ])('cannot be moved if they contain %s', (_, argsOfAll, message) => {
    expect(() => encodeArguments(argsOfAll, true)).toThrow(
      expect.objectContaining({ name: 'ValueError', message: expect.stringMatching(message), operation: 'run' }),
    );
    expect(array.length).toBe(4);
  });

  it.each([
    ['a function', () => 1],
    ['a symbol', Symbol('mine')],
    ['a map with a function', new Map([['key', () => 1]])],
  ])('are refused before any is posted if one contains %s', (_, value) => {
    for (const transfer of [false, true])
      expect(() => encodeArguments([[1], [{ deep: [value] }]], transfer)).toThrow(
        expect.objectContaining({
          ...{ code: 'ERR_COLL_NOT_CLONEABLE', cause: expect.any(DOMException) },
          message: expect.stringMatching(/^an argument of a replica cannot be sent to another thread/),
        }),
      );
  });

  it.each([
    ['a detached array', detached()],
    ['a tensor of a detached array', { ...tensor([1]), data: detached() }],
    ['an array outside of its buffer', outside()],
    ['a distributed value with such an array', new PerReplica([outside()])],
  ])('are refused before any is posted if one contains %s', (_, value) => {
    for (const transfer of [false, true])
      expect(() => encodeArguments([[1], [{ deep: [value] }]], transfer)).toThrow(
        expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_BUFFER' }),
      );
  });
});

import { afterEach, describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { dtypes } from '../values/dtype.js';
import { overlaps, tensor } from '../values/tensor.js';
import { Arena, createArenaMemory, createWasmArenaMemory } from './arena.js';

const mebibyte = 2 ** 20;

const kinds = [
  ['a growable buffer', createArenaMemory],
  ['memory of WebAssembly', createWasmArenaMemory],
] as const;

function twoViews(maxBytes = 8 * mebibyte, create = createArenaMemory): readonly [Arena, Arena] {
  const memory = create(maxBytes);
  return [new Arena(memory), new Arena(memory)];
}

describe('createArenaMemory', () => {
  it('starts with one mebibyte, or less if the limit is lower', () => {
    expect(createArenaMemory(8 * mebibyte).bytes).toMatchObject({ byteLength: mebibyte, maxByteLength: 8 * mebibyte });
    expect(createArenaMemory(1000).bytes).toMatchObject({ byteLength: 1000, maxByteLength: 1000 });
    expect(createArenaMemory().bytes.maxByteLength).toBe(2 ** 31);
  });

  it.each([0, -1, 1.5, 2 ** 31 + 1, Number.NaN])('refuses a limit of %d bytes', (maxBytes) => {
    for (const [, create] of kinds) {
      expect(thrown(() => create(maxBytes))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
    }
  });
});

describe('allocate() of an arena', () => {
  it.each(dtypes)('returns zeros of %s that overlap no other tensor', (dtype) => {
    const [arena] = twoViews();
    const made = [1, 0, 7, 100].map((length) => arena.allocate(dtype, length));
    expect(made.map(({ data }) => [...data].filter((item) => Number(item) !== 0).length)).toEqual([0, 0, 0, 0]);
    expect(made.map(({ dtype: of, shape, device }) => [of, shape, device])).toEqual(
      [1, 0, 7, 100].map((length) => [dtype, [length], '']),
    );
    const clashes = made.filter(({ data }, index) => made.slice(0, index).some((other) => overlaps(data, other.data)));
    expect(clashes).toEqual([]);
  });

  it('aligns every tensor to its own cache line', () => {
    const [first, second] = twoViews();
    const offsets = [first.allocate('int8', 1), second.allocate('float64', 9), first.allocate('int8', 64)].map(
      ({ data }) => data.byteOffset,
    );
    expect(offsets).toEqual([0, 64, 192]);
  });

  it('returns memory that every view of the arena can see', () => {
    const [first, second] = twoViews();
    const made = first.allocate('int32', 2);
    made.data[1] = 5;
    expect([second.holds(made.data), second.elements('int32')[1]]).toEqual([true, 5]);
    expect(second.holds(tensor([1]).data)).toBe(false);
  });
});

describe.each(kinds)('the growth of %s', (_, create) => {
  it('doubles the memory, or grows as far as needed, up to the limit', () => {
    const [arena] = twoViews(8 * mebibyte, create);
    const sizes = [mebibyte / 2, mebibyte, 3 * mebibyte, 3 * mebibyte].map((bytes) => {
      arena.reserve(bytes);
      return arena.bytes.byteLength / mebibyte;
    });
    expect(sizes).toEqual([1, 2, 4.5, 8]);
  });

  it('keeps written data, visible through views created afterwards', () => {
    const [first, second] = twoViews(undefined, create);
    const small = first.allocate('float32', 4);
    small.data.set([1, 2, 3, 4] as never);
    const before = second.elements('float32');
    expect(second.elements('float32')).toBe(before);
    const large = first.allocate('float32', mebibyte);
    large.data[mebibyte - 1] = 9;
    const after = second.elements('float32');
    expect(after).not.toBe(before);
    expect([...after.subarray(0, 4)]).toEqual([1, 2, 3, 4]);
    expect(after[large.data.byteOffset / 4 + mebibyte - 1]).toBe(9);
    expect([...small.data]).toEqual([1, 2, 3, 4]);
  });

  it('refuses to exceed the limit, and continues to work afterwards', () => {
    const [arena] = twoViews(2 * mebibyte, create);
    arena.reserve(mebibyte);
    expect(thrown(() => arena.reserve(mebibyte + 1))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_BUFFER',
      message: expect.stringMatching(
        /2097152 bytes has no room for 1048577 more; open the group with a larger maxBytes/,
      ),
    });
    expect(arena.reserve(mebibyte)).toBe(mebibyte);
    expect(thrown(() => arena.reserve(1))).toMatchObject({ code: 'ERR_COLL_BUFFER' });
  });

  it('recognises tensors on any of its earlier buffers, and maps them to the current buffer', () => {
    const [first, second] = twoViews(8 * mebibyte, create);
    const small = first.allocate('int32', 2);
    first.reserve(4 * mebibyte);
    const large = first.allocate('int32', 2);
    expect([first.holds(small.data), first.holds(large.data), second.holds(tensor([1]).data)]).toEqual([
      true,
      true,
      false,
    ]);
    const present = first.present(small);
    expect([present.data.buffer, present.data.byteOffset]).toEqual([first.bytes, small.data.byteOffset]);
    expect(first.present(large)).toBe(large);
  });
});

describe('the growth of an arena', () => {
  it('succeeds even if another thread has grown the memory meanwhile', () => {
    const memory = createArenaMemory(8 * mebibyte);
    const grow = memory.bytes.grow.bind(memory.bytes);
    vi.spyOn(memory.bytes, 'grow').mockImplementationOnce((bytes) => {
      grow(4 * mebibyte);
      grow(bytes as number);
    });
    expect(new Arena(memory).reserve(2 * mebibyte)).toBe(0);
    expect(memory.bytes.byteLength).toBe(4 * mebibyte);
  });

  it('throws an error if no memory is left', () => {
    const memory = createArenaMemory(8 * mebibyte);
    const cause = new RangeError('out of memory');
    vi.spyOn(memory.bytes, 'grow').mockImplementationOnce(() => {
      throw cause;
    });
    expect(thrown(() => new Arena(memory).reserve(2 * mebibyte))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_BUFFER',
      message: `cannot enlarge the memory that the threads share to ${2 * mebibyte} bytes`,
      cause,
    });
  });
});

describe('a process with a limited address space', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  const kept = { SharedArrayBuffer, Memory: (globalThis as unknown as Webs).WebAssembly.Memory };

  function limit(most: number): void {
    class Limited extends kept.SharedArrayBuffer {
      constructor(bytes: number, options?: { maxByteLength: number }) {
        if ((options?.maxByteLength ?? 0) > most) throw new RangeError('Array buffer allocation failed');
        super(bytes, options);
      }
    }
    class LimitedMemory extends kept.Memory {
      constructor(descriptor: { maximum: number }) {
        if (descriptor.maximum * 65536 > most) throw new RangeError('could not allocate memory');
        super(descriptor);
      }
    }
    vi.stubGlobal('SharedArrayBuffer', Limited);
    vi.stubGlobal('WebAssembly', { Memory: LimitedMemory });
  }

  it.each(kinds)('gets an error from %s that advises a lower maxBytes', (_, create) => {
    limit(2 ** 28);
    expect(create(2 ** 28).maxBytes).toBe(2 ** 28);
    expect(thrown(() => create())).toMatchObject({
      code: 'ERR_COLL_BUFFER',
      message: expect.stringMatching(/arena of 2147483648 bytes in this process: .* lower maxBytes/),
      cause: expect.any(RangeError),
    });
  });
});

interface Webs {
  readonly WebAssembly: { readonly Memory: new (descriptor: { maximum: number }) => object };
}

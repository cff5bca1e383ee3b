import { afterEach, describe, expect, it, vi } from 'vitest';
import { copyDisjoint } from './copy-disjoint.js';
import { byteSize, dtypes, viewOf } from './dtype.js';

type Copy = typeof copyDisjoint;

const memories = {
  private: (bytes: number) => new ArrayBuffer(bytes),
  shared: (bytes: number) => new SharedArrayBuffer(bytes),
};
const kinds = Object.keys(memories) as (keyof typeof memories)[];

// Elements: below and above the limits at which another way of copying takes over.
const lengths = [0, 1, 32, 33, 1023, 1024, 5000];

/** Copies the module anew, as on a platform with another Buffer. */
async function withBuffer(buffer: object | undefined): Promise<Copy> {
  vi.resetModules();
  vi.stubGlobal('Buffer', buffer);
  return (await import('./copy-disjoint.js')).copyDisjoint;
}

/** Like the Buffer of Deno, this one fills with elements instead of their bytes. */
class ElementBuffer extends Uint8Array {
  override fill(value: unknown, begin?: number): this {
    this.set(value as ArrayLike<number>, begin);
    return this;
  }
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each([
  ['with a Buffer', async () => copyDisjoint],
  ['without a Buffer', () => withBuffer(undefined)],
  ['with a Buffer that fills with elements', () => withBuffer(ElementBuffer)],
] as const)('copyDisjoint %s', (_, load) => {
  it.each(kinds.flatMap((from) => kinds.map((into) => [from, into] as const)))(
    'copies exactly the given elements from %s to %s memory',
    async (from, into) => {
      const copy = await load();
      for (const count of lengths) {
        const source = new Float32Array(memories[from](4 * (count + 7)), 8, count + 5).map((__, index) => index + 1);
        const placed = new Float32Array(memories[from](4 * (count + 7)), 8, count + 5);
        placed.set(source);
        const target = new Float32Array(memories[into](4 * (count + 9)), 4, count + 8).fill(-1);
        copy(target, 3, placed, 2, count);
        expect([...target]).toEqual([-1, -1, -1, ...source.subarray(2, 2 + count), -1, -1, -1, -1, -1]);
      }
    },
  );

  it('copies all bits, also those of signaling NaNs', async () => {
    const copy = await load();
    const words = new Uint32Array(new SharedArrayBuffer(4 * 2048)).fill(0x7f800001);
    const into = new Uint32Array(2048);
    copy(new Float32Array(into.buffer), 0, new Float32Array(words.buffer), 0, 2048);
    expect(into.every((bits) => bits === 0x7f800001)).toBe(true);
  });
});

it.each(dtypes)('copyDisjoint copies %s', (dtype) => {
  const bytes = Uint8Array.from({ length: 8192 }, (_, index) => index % 251);
  const length = bytes.length / byteSize(dtype);
  const into = new SharedArrayBuffer(bytes.length);
  copyDisjoint(viewOf(dtype, into, 0, length), 0, viewOf(dtype, bytes.buffer, 0, length), 0, length);
  expect([...new Uint8Array(into)]).toEqual([...bytes]);
});

import type { TypedArray } from './dtype.js';

/** Buffer.prototype.fill of Node.js, declared here because this package is not typed for Node.js alone. */
type Fill = (this: Uint8Array, value: TypedArray, begin: number, end: number) => unknown;

// For fewer elements, a loop takes less time than creating a view.
const fewElements = 32;

// In bytes. For fewer, two more views take more time than a faster copy saves.
const leastFilled = 1 << 12;

/**
 * Copies `count` elements from `from[fromAt]` on to `into[intoAt]` on. Both arrays have the same
 * type; the two ranges must not overlap. Meanwhile, no other thread may write either range.
 *
 * V8's `TypedArray.set` copies shared memory in words of 8 bytes. In Node.js, `Buffer.fill` copies
 * shared memory with `memcpy`, which is four times as fast in the L2 cache.
 */
export function copyDisjoint(into: TypedArray, intoAt: number, from: TypedArray, fromAt: number, count: number): void {
  if (count <= fewElements) {
    for (let index = 0; index < count; index++) into[intoAt + index] = from[fromAt + index] as number;
    return;
  }
  const source = count === from.length ? from : from.subarray(fromAt, fromAt + count);
  const bytes = source.byteLength;
  if (bytes < leastFilled || !fill || !(isShared(into) || isShared(from))) {
    (into as Float32Array).set(source as Float32Array, intoAt);
    return;
  }
  const begin = intoAt * into.BYTES_PER_ELEMENT;
  fill.call(new Uint8Array(into.buffer, into.byteOffset, into.byteLength), source, begin, begin + bytes);
}

function isShared({ buffer }: TypedArray): boolean {
  return !(buffer instanceof ArrayBuffer);
}

// Bundlers may add a Buffer for browsers, which fills byte by byte: only the one of the runtime is used.
const host = globalThis as {
  readonly process?: { readonly versions?: { readonly node?: string } };
  readonly Buffer?: { readonly prototype: { readonly fill: Fill } };
};
const fill = /* @__PURE__ */ fillOfBytes();

/** `Buffer.prototype.fill`, if it copies the bytes of an array. In Deno, it converts every element to one byte. */
function fillOfBytes(): Fill | undefined {
  const found = host.process?.versions?.node ? host.Buffer?.prototype.fill : undefined;
  const word = new Uint32Array([0x01020304]);
  const copy = new Uint32Array(1);
  found?.call(new Uint8Array(copy.buffer), word, 0, 4);
  return copy[0] === word[0] ? found : undefined;
}

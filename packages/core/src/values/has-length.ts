import type { TypedArray } from './dtype.js';

/**
 * Whether an array has `length` elements: fewer if its buffer was detached or resized. Counts bytes,
 * because the optimizing compiler of Node.js 20 and 22 may take `length` as it was before, in
 * programs that use resizable buffers beside others.
 */
export function hasLength(data: TypedArray, length: number): boolean {
  return data.byteLength === length * data.BYTES_PER_ELEMENT;
}

import { byteSize } from '../values/dtype.js';
import { partAt } from '../values/index-numbers.js';
import type { Tensor } from '../values/tensor.js';

const digits = 256;

/** The positions of integers in ascending order, by a stable radix sort with one pass per byte. */
export function ascendingOrder({ data, dtype }: Pick<Tensor, 'data' | 'dtype'>): Uint32Array {
  const count = data.length;
  const width = byteSize(dtype);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let order = new Uint32Array(count).map((_, position) => position);
  let next = new Uint32Array(count);
  for (let significance = 0; significance < width; significance++) {
    const at = partAt(significance, width);
    // In two's complement the top bit marks negative numbers, which come first.
    const flip = significance === width - 1 && !dtype.startsWith('u') ? digits / 2 : 0;
    const starts = startsOf(bytes, at, width, flip);
    // Most indices are small numbers with equal upper bytes.
    if (!starts) continue;
    for (let index = 0; index < count; index++) {
      const position = order[index] as number;
      const digit = (bytes[position * width + at] as number) ^ flip;
      next[starts[digit] as number] = position;
      starts[digit] = (starts[digit] as number) + 1;
    }
    [order, next] = [next, order];
  }
  return order;
}

/**
 * For each digit, the sorted position of the first integer that has this digit; undefined if all
 * integers have the same digit.
 */
function startsOf(bytes: Uint8Array, at: number, width: number, flip: number): Uint32Array | undefined {
  const counts = new Uint32Array(digits);
  for (let byte = at; byte < bytes.length; byte += width) {
    const digit = (bytes[byte] as number) ^ flip;
    counts[digit] = (counts[digit] as number) + 1;
  }
  let start = 0;
  for (let digit = 0; digit < digits; digit++) {
    const count = counts[digit] as number;
    if (count === bytes.length / width) return undefined;
    counts[digit] = start;
    start += count;
  }
  return counts;
}

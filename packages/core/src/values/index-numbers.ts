import { allocate, byteSize } from './dtype.js';
import type { Tensor } from './tensor.js';

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/**
 * The position in memory of one of the `count` equal parts, such as bytes, of an integer.
 * Significance 0 is the lowest part.
 */
export function partAt(significance: number, count: number): number {
  return isLittleEndian ? significance : count - 1 - significance;
}

/**
 * Integers as words of up to 32 bits: one word per integer, or two for 64 bits. Reading an element
 * of a `BigInt64Array` allocates an object; words are plain numbers.
 */
export interface Words {
  readonly data: Tensor['data'];
  readonly perInteger: 1 | 2;
}

/** The words of a tensor of any integer dtype, in the same memory. */
export function wordsOf({ data, dtype }: Pick<Tensor, 'data' | 'dtype'>): Words {
  if (byteSize(dtype) < 8) return { data, perInteger: 1 };
  return { data: new Uint32Array(data.buffer, data.byteOffset, 2 * data.length), perInteger: 2 };
}

/**
 * All integers as numbers: the same memory, or for 64 bits a copy in which integers beyond 2^53 are
 * rounded.
 */
export function asNumbers(integers: Tensor): ArrayLike<number> {
  const { data, dtype } = integers;
  const words = wordsOf(integers);
  if (words.perInteger === 1) return data as ArrayLike<number>;
  const [low, high] = [partAt(0, 2), partAt(1, 2)];
  const numbers = new Float64Array(data.length);
  const parts = words.data as Uint32Array;
  const isSigned = dtype === 'int64';
  for (let position = 0; position < numbers.length; position++) {
    const upper = parts[2 * position + high] as number;
    numbers[position] = (isSigned ? upper | 0 : upper) * 2 ** 32 + (parts[2 * position + low] as number);
  }
  return numbers;
}

/** The index of the first number below 0 or not below `limit`; -1 if there is none. */
export function firstOutside(numbers: ArrayLike<number>, limit: number): number {
  for (let position = 0; position < numbers.length; position++) {
    const number = numbers[position] as number;
    if (number < 0 || number >= limit) return position;
  }
  return -1;
}

/** The integers at the given positions of `from`, in new memory. All positions must exist. */
export function pick(from: Tensor, positions: Tensor): Tensor {
  const at = asNumbers(positions);
  const picked: Tensor = { ...from, data: allocate(from.dtype, at.length), shape: [at.length] };
  const [source, target] = [wordsOf(from), wordsOf(picked)];
  const { perInteger } = source;
  for (let index = 0; index < at.length; index++) {
    for (let word = 0; word < perInteger; word++) {
      target.data[index * perInteger + word] = source.data[(at[index] as number) * perInteger + word] as number;
    }
  }
  return picked;
}

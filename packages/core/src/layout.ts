import { dtypes } from './dtype.js';
import { IndexedSlices } from './indexed-slices.js';
import type { Value } from './sparse.js';

/** A number that is the same for the same dtypes and shapes in the same order; rows of sparse values may differ. */
export function layoutOf(values: readonly Value[]): number {
  const numbers = values.flatMap((value) => {
    const isSparse = value instanceof IndexedSlices;
    const { dtype, shape } = isSparse ? value.values : value;
    return [Number(isSparse), dtypes.indexOf(dtype), shape.length, ...(isSparse ? shape.slice(1) : shape)];
  });
  return hashOf([values.length, ...numbers]);
}

/** A 32-bit number for a list of numbers; lists that differ have, but for rare accidents, different ones. */
export function hashOf(numbers: readonly number[]): number {
  return numbers.reduce((hash, number) => Math.imul(hash ^ number, 0x01000193), 0x811c9dc5 | 0);
}

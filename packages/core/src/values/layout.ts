import type { Value } from '../sparse/sparse.js';
import { dtypes } from './dtype.js';

/**
 * A 32-bit hash of all dtypes and shapes, in order, and of `form`, the structure's form. For sparse
 * values only the number of dimensions is hashed, because ranks exchange their dtypes and shapes.
 */
export function layoutOf(values: readonly Value[], form = ''): number {
  let hash = joinHash(start, values.length);
  for (let index = 0; index < form.length; index++) hash = joinHash(hash, form.charCodeAt(index));
  for (const value of values) {
    if (!('data' in value)) {
      hash = joinHash(joinHash(hash, sparse), value.values.shape.length);
      continue;
    }
    const { dtype, shape } = value;
    hash = joinHash(joinHash(hash, dtypes.indexOf(dtype)), shape.length);
    for (const dimension of shape) hash = joinHash(hash, dimension);
  }
  return hash;
}

/** A 32-bit hash of a list of numbers. */
export function hashOf(numbers: readonly number[]): number {
  return numbers.reduce(joinHash, start);
}

/** The hash of a list that continues with `number`, from the hash of the list before it. */
export function joinHash(hash: number, number: number): number {
  return Math.imul(hash ^ number, 0x01000193);
}

const start = 0x811c9dc5 | 0;

// Hashed instead of a dtype, for sparse values.
const sparse = -1;

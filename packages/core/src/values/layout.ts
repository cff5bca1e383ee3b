import { dtypes } from './dtype.js';
import type { Value } from './indexed-slices.js';
import type { Tensor } from './tensor.js';

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

/**
 * A 32-bit hash of the shape of a value, or of the shapes of the values of a list; 0 if all of them
 * have one dimension, as typed arrays have.
 */
export function shapeLayoutOf(values: Tensor | readonly Tensor[]): number {
  if (!isList(values)) return values.shape.length === 1 ? 0 : hashOf(values.shape);
  if (values.every(({ shape }) => shape.length === 1)) return 0;
  return hashOf(values.flatMap(({ shape }) => [shape.length, ...shape]));
}

function isList(values: Tensor | readonly Tensor[]): values is readonly Tensor[] {
  return Array.isArray(values);
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

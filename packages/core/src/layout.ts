import { dtypes } from './dtype.js';
import type { Value } from './sparse.js';

/** A number that is the same for the same dtypes and shapes in the same order; rows of sparse values may differ. */
export function layoutOf(values: readonly Value[]): number {
  let hash = joinHash(start, values.length);
  for (const value of values) {
    const isSparse = !('data' in value);
    const { dtype, shape } = isSparse ? value.values : value;
    hash = joinHash(joinHash(joinHash(hash, Number(isSparse)), dtypes.indexOf(dtype)), shape.length);
    for (let axis = Number(isSparse); axis < shape.length; axis++) hash = joinHash(hash, shape[axis] as number);
  }
  return hash;
}

/** A 32-bit number for a list of numbers; lists that differ have, but for rare accidents, different ones. */
export function hashOf(numbers: readonly number[]): number {
  return numbers.reduce(joinHash, start);
}

const start = 0x811c9dc5 | 0;

function joinHash(hash: number, number: number): number {
  return Math.imul(hash ^ number, 0x01000193);
}

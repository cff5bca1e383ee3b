import { ValueError } from './errors.js';

/** @throws ValueError for a size below 1 */
export function requireSize(size: number): void {
  if (Number.isInteger(size) && size >= 1) return;
  throw new ValueError('ERR_COLL_VALUE', `a group has 1 rank or more, not ${size}`);
}

/** Every rank of a group. @throws ValueError for a size below 1 */
export function allRanks(size: number): readonly number[] {
  requireSize(size);
  return Array.from({ length: size }, (_, rank) => rank);
}

/** A single rank of a group. @throws ValueError for a rank outside it */
export function oneRank(rank: number, size: number): readonly [number] {
  if (Number.isInteger(rank) && rank >= 0 && rank < size) return [rank];
  throw new ValueError('ERR_COLL_VALUE', `rank ${rank} is not one of ${size}`);
}

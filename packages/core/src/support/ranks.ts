import { ValueError } from './errors.js';
import { quote } from './quote.js';

// A larger size is almost certainly a wrong argument, and setting up such a group would take long.
const mostRanks = 2 ** 16;

/** @throws ValueError unless `size` is a whole number from 1 to 65 536 */
export function requireSize(size: unknown): asserts size is number {
  if (typeof size === 'number' && Number.isInteger(size) && size >= 1 && size <= mostRanks) return;
  const bound = typeof size === 'number' && size > mostRanks ? `${mostRanks} ranks or fewer` : '1 rank or more';
  throw new ValueError('ERR_COLL_VALUE', `a group must have ${bound}, got ${quote(size)}`);
}

/** Every rank of a group. @throws ValueError unless `size` is a whole number from 1 to 65 536 */
export function allRanks(size: number): readonly number[] {
  requireSize(size);
  return Array.from({ length: size }, (_, rank) => rank);
}

/** A list of one rank of a group. @throws ValueError for a rank outside the group */
export function oneRank(rank: number, size: number): readonly [number] {
  if (Number.isInteger(rank) && rank >= 0 && rank < size) return [rank];
  throw new ValueError(
    'ERR_COLL_VALUE',
    `rank must be a whole number from 0 to below the group size ${size}, got ${quote(rank)}`,
  );
}

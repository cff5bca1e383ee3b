import type { SplitPart } from '../runtime/communicator.js';
import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';

/**
 * The old ranks of each color, in the order of their new ranks. Colors are in ascending order,
 * `parts` in rank order.
 */
export function ranksByColor(parts: readonly SplitPart[]): readonly (readonly number[])[] {
  const colors = [...new Set(parts.map(({ color }) => color))].filter((color) => color >= 0).sort((a, b) => a - b);
  const keyOf = (rank: number) => (parts[rank] as SplitPart).key;
  return colors.map((wanted) =>
    parts.flatMap(({ color }, rank) => (color === wanted ? [rank] : [])).sort((a, b) => keyOf(a) - keyOf(b) || a - b),
  );
}

/** The old ranks of a rank's new group. Undefined for a rank that joins none. */
export function groupOfRank(parts: readonly SplitPart[], rank: number): readonly number[] | undefined {
  return ranksByColor(parts).find((ranks) => ranks.includes(rank));
}

/** @throws ValueError unless color and key are 32-bit integers */
export function requireSplitPart({ color, key }: SplitPart): void {
  for (const [name, value] of Object.entries({ color, key })) {
    if (Number.isInteger(value) && Math.abs(value) < 2 ** 31) continue;
    throw new ValueError('ERR_COLL_VALUE', `split: ${name} must be a 32-bit integer, got ${quote(value)}`, {
      operation: 'split',
    });
  }
}

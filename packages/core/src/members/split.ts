import { refusedError } from '../collectives/call-errors.js';
import type { Collective } from '../collectives/collective.js';
import type { SplitPart } from '../runtime/communicator.js';
import { Planner } from '../schedule/planner.js';
import type { Algorithm } from '../schedule/schedule.js';
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

const collectives: readonly Collective[] = [
  { kind: 'all-reduce', op: 'sum' },
  { kind: 'reduce', op: 'sum', root: 0 },
  { kind: 'broadcast', root: 0 },
  { kind: 'all-gather' },
  { kind: 'gather', root: 0 },
  { kind: 'scatter', root: 0 },
  { kind: 'reduce-scatter', op: 'sum' },
  { kind: 'all-to-all' },
];

/**
 * Requires that a group of each color can make the collectives that the group being split can make.
 * @throws ValueError (ERR_COLL_REFUSED), the same on all ranks, if the algorithm refuses the number
 * of ranks of a color
 */
export function requireSizes(parts: readonly SplitPart[], algorithm: Algorithm, rank: number): void {
  const whole = new Planner(algorithm, parts.length);
  const able = collectives.filter((collective) => whole.refuses(collective, 'float32') === undefined);
  for (const size of new Set(ranksByColor(parts).map((ranks) => ranks.length))) {
    const planner = new Planner(algorithm, size);
    const refused = able.map((collective) => planner.refuses(collective, 'float32')).find((reason) => reason);
    if (refused === undefined) continue;
    const message = `the algorithm "${algorithm.name}" refuses a new group of ${size} ranks: ${refused}`;
    const advice =
      'open the group with an algorithm for any number of ranks, such as directAlgorithm() or ringAlgorithm() without options';
    throw refusedError(`${message}; ${advice}`, { operation: 'split', rank });
  }
}

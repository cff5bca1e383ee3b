import { refusedError } from '../collectives/call-errors.js';
import type { Collective } from '../collectives/collective.js';
import type { SplitPart } from '../runtime/communicator.js';
import { Planner } from '../schedule/planner.js';
import type { Algorithm } from '../schedule/schedule.js';
import { ranksByColor } from './split.js';

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
    const told = `the algorithm "${algorithm.name}" refuses a new group of ${size} ranks: ${refused}`;
    const cure =
      'open the group with an algorithm for any number of ranks, such as directAlgorithm() or ringAlgorithm() without options';
    throw refusedError(`${told}; ${cure}`, { operation: 'split', rank });
  }
}

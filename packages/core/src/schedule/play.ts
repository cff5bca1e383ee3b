import type { Collective } from '../collectives/collective.js';
import { goalOf } from './goal.js';
import type { Schedule } from './schedule.js';
import { stepsOf } from './steps.js';

/**
 * Executes a verified schedule on values of any kind. Returns the final value of each place (a
 * chunk of a rank), at index `rank * chunks + chunk`: undefined if the place is empty or `combine`
 * returned undefined.
 */
export function play<Value>(
  schedule: Schedule,
  collective: Collective,
  contributionOf: (rank: number) => Value,
  combine: (left: Value, right: Value) => Value | undefined,
): (Value | undefined)[] {
  const { ranks, chunks, rounds } = schedule;
  const goal = goalOf(collective, schedule);
  const places: (Value | undefined)[] = [];
  for (let rank = 0; rank < ranks; rank++) {
    const own = contributionOf(rank);
    for (let chunk = 0; chunk < chunks; chunk++) places.push(goal.contributes(rank, chunk) ? own : undefined);
  }
  const combined = (left: Value | undefined, right: Value | undefined) =>
    left === undefined || right === undefined ? undefined : combine(left, right);
  for (const round of rounds) {
    // In a verified schedule no round reads a place that it writes, so places may change one by
    // one.
    for (const { to, chunk, operands } of stepsOf(round)) {
      places[to * chunks + chunk] = operands.map((rank) => places[rank * chunks + chunk]).reduce(combined);
    }
  }
  return places;
}

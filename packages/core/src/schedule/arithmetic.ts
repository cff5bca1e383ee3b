import type { Collective } from '../collectives/collective.js';
import { goalOf } from './goal.js';
import type { Schedule } from './schedule.js';
import { stepsOf } from './steps.js';

/** Contributions combined from left to right. */
interface Term {
  readonly text: string;
  readonly isSum: boolean;
}

/**
 * For each chunk, the distinct ways in which its contributions are combined across ranks. In `0 + 1
 * + 2`, ranks 0 and 1 are combined first, then rank 2; `(0 + 1) + (2 + 3)` is a tree. `+` stands
 * for any op. If a chunk has only one way, all ranks that receive it get the same bits. The
 * schedule must be accepted by `verify`.
 */
export function arithmeticOf(schedule: Schedule, collective: Collective): readonly (readonly string[])[] {
  const { ranks, chunks } = schedule;
  const goal = goalOf(collective, schedule);
  const places = finalValues<Term>(schedule, collective, (rank) => ({ text: `${rank}`, isSum: false }), combine);
  return Array.from({ length: chunks }, (_, chunk) => {
    const ways = new Set<string>();
    for (let rank = 0; rank < ranks; rank++) {
      if (goal.receives(rank, chunk)) ways.add((places[rank * chunks + chunk] as Term).text);
    }
    return [...ways];
  });
}

/**
 * Executes a verified schedule on values of any kind. Returns the final value of each place (a
 * chunk of a rank), at index `rank * chunks + chunk`: undefined if the place is empty or `combine`
 * returned undefined.
 */
function finalValues<Value>(
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

// The arithmetic is bitwise commutative, so a single contribution is written after a sum, even if
// it is the left operand.
function combine(left: Term, right: Term): Term {
  const [first, second] = right.isSum && !left.isSum ? [right, left] : [left, right];
  return { text: `${operand(first, second.isSum)} + ${operand(second, true)}`, isSum: true };
}

function operand({ text, isSum }: Term, inParentheses: boolean): string {
  return isSum && inParentheses ? `(${text})` : text;
}

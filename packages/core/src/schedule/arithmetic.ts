import type { Collective } from '../collectives/collective.js';
import { goalOf } from './goal.js';
import { play } from './play.js';
import type { Schedule } from './schedule.js';

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
  const places = play<Term>(schedule, collective, (rank) => ({ text: `${rank}`, isSum: false }), combine);
  return Array.from({ length: chunks }, (_, chunk) => {
    const ways = new Set<string>();
    for (let rank = 0; rank < ranks; rank++) {
      if (goal.receives(rank, chunk)) ways.add((places[rank * chunks + chunk] as Term).text);
    }
    return [...ways];
  });
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

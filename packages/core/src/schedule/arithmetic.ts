import type { Collective } from '../collectives/collective.js';
import { goalOf } from './goal.js';
import { play } from './play.js';
import type { Schedule } from './schedule.js';

/** Contributions that are combined; read from left to right, as sums are. */
interface Term {
  readonly text: string;
  readonly isSum: boolean;
}

/**
 * For each chunk how its contributions are combined, in the ways in which ranks end with it, each once: `0 + 1 + 2` is
 * rank 0's with rank 1's, then with rank 2's; `(0 + 1) + (2 + 3)` is a tree. `+` stands for any op. One way a chunk means that all
 * ranks end with the same bits. The schedule must be one that `verify` accepts.
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

// Our arithmetic is commutative to the bit, so a single contribution may stand behind a sum wherever it came from.
function combine(left: Term, right: Term): Term {
  const [first, second] = right.isSum && !left.isSum ? [right, left] : [left, right];
  return { text: `${operand(first, second.isSum)} + ${operand(second, true)}`, isSum: true };
}

function operand({ text, isSum }: Term, inParentheses: boolean): string {
  return isSum && inParentheses ? `(${text})` : text;
}

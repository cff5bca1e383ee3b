import type { Schedule, Transfer } from './schedule.js';

/**
 * A schedule drawn as text, one line per round (`nothing moves` if there are no rounds):
 *
 *     round 0 | 0 -(0)+> 1   1 -(1)+> 2   2 -(2)+> 0
 *     round 1 | 1 -(0)-> 2   2 -(1)-> 0   0 -(2)-> 1
 *
 * `0 -(2)+> 1`: rank 0 sends chunk 2 to rank 1, which combines it with its own; `0 -(2)-> 1`: rank
 * 1 stores it.
 */
export function draw({ ranks, chunks, rounds }: Schedule): string {
  if (rounds.length === 0) return 'nothing moves';
  const rankOf = column(ranks);
  const chunkOf = column(chunks);
  const roundOf = column(rounds.length);
  const arrow = ({ from, to, chunk, reduce }: Transfer) =>
    `${rankOf(from)} -(${chunkOf(chunk)})${reduce ? '+' : '-'}> ${rankOf(to)}`;
  return rounds.map((round, index) => `round ${roundOf(index)} | ${round.map(arrow).join('   ')}`.trimEnd()).join('\n');
}

/** Formats numbers below `limit` with equal width. */
function column(limit: number): (value: number) => string {
  const width = String(limit - 1).length;
  return (value) => String(value).padStart(width);
}

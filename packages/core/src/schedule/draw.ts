import type { Schedule, Transfer } from './schedule.js';

/**
 * A picture of a schedule in text, a line a round:
 *
 *     round 0 | 0 -(0)+> 1   1 -(1)+> 2   2 -(2)+> 0
 *     round 1 | 1 -(0)-> 2   2 -(1)-> 0   0 -(2)-> 1
 *
 * `0 -(2)+> 1`: chunk 2 goes from rank 0 to rank 1 and is combined there; `0 -(2)-> 1`: it is copied.
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

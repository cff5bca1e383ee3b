import type { Collective } from '../collectives/collective.js';
import { goalOf } from './goal.js';
import { play } from './play.js';
import type { Schedule } from './schedule.js';

/** Contributions combined from left to right: first those of `before`, then that of rank `last`. */
interface Chain {
  readonly before: Chain | undefined;
  readonly last: number;
  readonly length: number;
}

/**
 * For each chunk, the order in which ranks are combined from left to right. Combining all inputs in
 * this order in one pass gives the same bits as the schedule. Undefined if some chunk has another
 * arithmetic, as in (a + b) + (c + d), or different orders on the ranks that receive it. The
 * schedule must be accepted by `verify`.
 */
export function chainsOf(schedule: Schedule, collective: Collective): readonly (readonly number[])[] | undefined {
  const { ranks, chunks } = schedule;
  const goal = goalOf(collective, schedule);
  const places = play<Chain>(schedule, collective, (rank) => ({ before: undefined, last: rank, length: 1 }), combine);
  const chains: (readonly number[])[] = [];
  for (let chunk = 0; chunk < chunks; chunk++) {
    let chain: Chain | undefined;
    for (let rank = 0; rank < ranks; rank++) {
      if (!goal.receives(rank, chunk)) continue;
      const found = places[rank * chunks + chunk];
      chain ??= found;
      if (!found || !isSame(chain, found)) return undefined;
    }
    chains.push(ranksOf(chain));
  }
  return chains;
}

// The arithmetic is bitwise commutative, so a single contribution extends a chain from either side.
function combine(left: Chain, right: Chain): Chain | undefined {
  if (right.length === 1) return { before: left, last: right.last, length: left.length + 1 };
  return left.length === 1 ? { before: right, last: left.last, length: right.length + 1 } : undefined;
}

function isSame(a: Chain | undefined, b: Chain | undefined): boolean {
  let [one, other] = [a, b];
  while (one !== other) {
    if (one?.last !== other?.last) return false;
    [one, other] = [one?.before, other?.before];
  }
  return true;
}

function ranksOf(chain: Chain | undefined): readonly number[] {
  const ranks: number[] = [];
  for (let link = chain; link; link = link.before) ranks.push(link.last);
  return ranks.reverse();
}

import type { Collective } from '../collective.js';
import { scheduleOf } from './compose.js';
import type { Algorithm, Schedule, Transfer } from './schedule.js';

/**
 * The same algorithm, which also moves what it has no schedule for: where it refuses an all-gather or a broadcast, whoever has a part
 * hands it to everyone, in one round. There is no arithmetic in them, so that any algorithm may be played for the rest.
 */
export function withMoves(algorithm: Algorithm): Algorithm {
  const isMoved = (collective: Collective, ranks: number) =>
    (collective.kind === 'all-gather' || collective.kind === 'broadcast') &&
    algorithm.refuses?.(collective, ranks) !== undefined;
  return {
    name: algorithm.name,
    refuses: (collective, ranks) => (isMoved(collective, ranks) ? undefined : algorithm.refuses?.(collective, ranks)),
    plan: (collective, ranks) =>
      isMoved(collective, ranks) ? handOut(collective, ranks) : algorithm.plan(collective, ranks),
  };
}

/** A chunk of each rank to everyone, or the root's only one. */
function handOut(collective: Collective, ranks: number): Schedule {
  const everyone = Array.from({ length: ranks }, (_, rank) => rank);
  const toOthers = (from: number, chunk: number): Transfer[] =>
    everyone.filter((to) => to !== from).map((to) => ({ from, to, chunk, reduce: false }));
  if (collective.kind === 'broadcast') return scheduleOf(ranks, 1, [toOthers(collective.root, 0)]);
  return scheduleOf(ranks, ranks, [everyone.flatMap((rank) => toOthers(rank, rank))]);
}

import type { Collective, CollectiveOp } from '../collectives/collective.js';
import { scheduleOf } from './compose.js';
import { blockCount } from './goal.js';
import type { Schedule, StreamedSchedule, Transfer } from './schedule.js';

/** A collective that combines nothing: broadcast, all-gather, gather, scatter and all-to-all. */
export type Move = Exclude<Collective, { readonly op: CollectiveOp }>;

/** The schedule of `streamedLinear`, stored in memory. */
export function linear(move: Move, ranks: number): Schedule {
  const { chunks, rounds } = streamedLinear(move, ranks);
  return scheduleOf(ranks, chunks, rounds);
}

/**
 * A move in one round: every rank that has a block sends it directly to each rank that needs it, as
 * in the linear algorithms of MPI libraries. No byte travels twice, but all bytes of a move with a
 * root pass the root's port.
 *
 *     gather           scatter           all-to-all
 *     1 --+            +--> 1            0 <--> 1
 *     2 --+-> 0     0 -+--> 2            0 <--> 2
 *     3 --+            +--> 3            1 <--> 2
 */
export function streamedLinear(move: Move, ranks: number): StreamedSchedule {
  return { ranks, chunks: blockCount(move.kind, ranks), rounds: [transfersOf(move, ranks)] };
}

function* transfersOf(move: Move, ranks: number): Iterable<Transfer> {
  for (let from = 0; from < ranks; from++) {
    for (let to = 0; to < ranks; to++) {
      if (to !== from && sends(move, from, to))
        yield { from, to, chunk: blockFor(move, from, to, ranks), reduce: false };
    }
  }
}

function sends(move: Move, from: number, to: number): boolean {
  switch (move.kind) {
    case 'broadcast':
    case 'scatter':
      return from === move.root;
    case 'gather':
      return to === move.root;
    default:
      return true;
  }
}

function blockFor({ kind }: Move, from: number, to: number, ranks: number): number {
  switch (kind) {
    case 'broadcast':
      return 0;
    case 'scatter':
      return to;
    case 'all-to-all':
      return from * ranks + to;
    default:
      return from;
  }
}

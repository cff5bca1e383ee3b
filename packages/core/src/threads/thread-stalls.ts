import { Descriptors } from '../runtime/descriptors.js';
import type { ThreadGroup } from '../runtime/engine.js';
import { SharedBarrier } from './shared-barrier.js';

/** The collective in which some ranks of a group of threads wait for others. */
export interface WaitingRanks {
  /** The count of the ranks that wait, which differs from that of their earlier waits. */
  readonly count: number;
  readonly operation: string;
  readonly waiting: readonly number[];
  /** The ranks that have not arrived. */
  readonly missing: readonly number[];
}

/**
 * The ranks that wait for others in a group of threads; undefined if no rank waits, or the group has
 * failed. Only reads shared memory, so any thread can call it, even if all ranks block.
 */
export function waitingRanks({ control, descriptors, size }: ThreadGroup): WaitingRanks | undefined {
  const barrier = new SharedBarrier(control, size, 0);
  if (barrier.hasFailed) return undefined;
  const counts = Array.from({ length: size }, (_, rank) => barrier.count(rank));
  const count = counts.reduce((latest, other) => (((latest - other) | 0) < 0 ? other : latest));
  const waiting = [...counts.keys()].filter((rank) => counts[rank] === count);
  const missing = [...counts.keys()].filter((rank) => counts[rank] !== count);
  const [first] = waiting;
  if (first === undefined || missing.length === 0) return undefined;
  const operation = new Descriptors(descriptors, size, barrier.latestTurn(first)).operation(first);
  return { count, operation, waiting, missing };
}

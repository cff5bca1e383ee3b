import type { Collective } from '../collectives/collective.js';
import { chainsOf } from './chains.js';
import { goalOf } from './goal.js';
import type { Schedule } from './schedule.js';
import { stepsOf } from './steps.js';

/** The operation on every element of a chunk, the same for all; elements are independent. */
export interface FusedChunk {
  /**
   * Ranks whose inputs are combined, in this order; undefined if the arithmetic is not a chain, as
   * in (a + b) + (c + d).
   */
  readonly chain: readonly number[] | undefined;
  /** Without a chain: operations on registers, one per rank, which begin with the ranks' inputs. */
  readonly steps: readonly ChunkStep[];
  /** Ranks that get the result: that of the chain, or of their own register. */
  readonly targets: readonly number[];
}

/** Register `to` becomes the combination of some registers, from left to right, or the copy of one. */
export interface ChunkStep {
  readonly to: number;
  readonly operands: readonly number[];
}

/** A schedule chunk by chunk: its arithmetic without its copies. */
export function fusedChunks(schedule: Schedule, collective: Collective): readonly FusedChunk[] {
  const goal = goalOf(collective, schedule);
  const ranks = Array.from({ length: schedule.ranks }, (_, rank) => rank);
  const chains = chainsOf(schedule, collective);
  // In a verified schedule no round reads a place that it writes, so its steps may run one after
  // the other.
  const steps = chains ? [] : schedule.rounds.flatMap(stepsOf);
  return Array.from({ length: schedule.chunks }, (_, chunk) => ({
    chain: chains?.[chunk],
    steps: steps.filter((step) => step.chunk === chunk),
    targets: ranks.filter((rank) => goal.receives(rank, chunk)),
  }));
}

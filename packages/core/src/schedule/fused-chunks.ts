import type { Collective } from '../collectives/collective.js';
import { chainsOf } from './chains.js';
import { goalOf } from './goal.js';
import type { Schedule } from './schedule.js';
import { stepsOf } from './steps.js';

/** What happens to every element of a chunk: it is the same for all of them, and elements do not meet. */
export interface FusedChunk {
  /** Whose inputs are combined, in this order; undefined where the arithmetic is no chain, as in (a + b) + (c + d). */
  readonly chain: readonly number[] | undefined;
  /** Without a chain: what is done to registers, one a rank, which begin with the ranks' inputs. */
  readonly steps: readonly ChunkStep[];
  /** Who gets the result: the chain's, or that of the own register. */
  readonly targets: readonly number[];
}

/** The register `to` becomes the combination of some registers, from left to right, or the copy of one. */
export interface ChunkStep {
  readonly to: number;
  readonly operands: readonly number[];
}

/** A schedule chunk by chunk: its bits without its copies. */
export function fusedChunks(schedule: Schedule, collective: Collective): readonly FusedChunk[] {
  const goal = goalOf(collective, schedule);
  const ranks = Array.from({ length: schedule.ranks }, (_, rank) => rank);
  const chains = chainsOf(schedule, collective);
  // In a proven schedule nothing that a round writes is read in it, so that its steps may follow each other.
  const steps = chains ? [] : schedule.rounds.flatMap(stepsOf);
  return Array.from({ length: schedule.chunks }, (_, chunk) => ({
    chain: chains?.[chunk],
    steps: steps.filter((step) => step.chunk === chunk),
    targets: ranks.filter((rank) => goal.receives(rank, chunk)),
  }));
}

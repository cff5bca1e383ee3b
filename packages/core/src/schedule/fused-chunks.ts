import type { Collective } from '../collectives/collective.js';
import { chainsOf } from './chains.js';
import { goalOf } from './goal.js';
import type { Schedule } from './schedule.js';
import { type StepsByChunk, stepsByChunk } from './steps-by-chunk.js';

/** The arithmetic of one chunk, applied to each element independently. */
export interface FusedChunk {
  /**
   * Ranks whose inputs are combined, in this order; undefined if the arithmetic is not a chain, as
   * in (a + b) + (c + d).
   */
  readonly chain: readonly number[] | undefined;
  /**
   * Operations on registers, one register per rank, which initially holds the rank's input. Empty
   * if there is a chain.
   */
  readonly steps: readonly ChunkStep[];
  /**
   * Ranks that get a result: the result of the chain or, if there is no chain, their own register.
   */
  readonly targets: readonly number[];
}

/**
 * Sets register `to` to the combination of the operands from left to right, or to a copy of a
 * single operand.
 */
export interface ChunkStep {
  readonly to: number;
  readonly operands: readonly number[];
}

/** The arithmetic of each chunk of a schedule, without the copies between ranks. */
export function fusedChunks(schedule: Schedule, collective: Collective): readonly FusedChunk[] {
  const { soleReceiver } = goalOf(collective, schedule);
  const everyone = Array.from({ length: schedule.ranks }, (_, rank) => rank);
  const alone = everyone.map((rank) => [rank]);
  const chains = chainsOf(schedule, collective);
  // In a verified schedule no round reads a place that it writes, so its steps may run one after
  // the other.
  const steps = chains ? undefined : stepsByChunk(schedule);
  return Array.from({ length: schedule.chunks }, (_, chunk) => {
    const receiver = soleReceiver(chunk);
    return {
      chain: chains?.[chunk],
      // Made when read: as objects, the steps of 128 ranks take megabytes.
      get steps() {
        return steps ? stepsIn(steps, chunk) : none;
      },
      targets: receiver === undefined ? everyone : (alone[receiver] as readonly number[]),
    };
  });
}

const none: readonly ChunkStep[] = [];

function stepsIn({ begins, words }: StepsByChunk, chunk: number): ChunkStep[] {
  const steps: ChunkStep[] = [];
  for (let at = begins[chunk] as number; at < (begins[chunk + 1] as number); ) {
    const end = at + 2 + (words[at + 1] as number);
    steps.push({ to: words[at] as number, operands: Array.from(words.subarray(at + 2, end)) });
    at = end;
  }
  return steps;
}

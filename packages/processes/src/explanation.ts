import type { Link, LinkSpeeds } from '@coll/core';
import type { Calibration } from '@coll/native/addon';
import type { Machine } from '@coll/native/machine';

/** How a group of processes exchanges data, and why. */
export interface GroupExplanation {
  readonly engine: 'native';
  /** The SIMD instructions that the native engine uses. */
  readonly simd: string;
  /**
   * How collectives are executed: in memory that all members share, or by messages over the links.
   */
  readonly player: 'shared-memory' | 'messages';
  readonly links: readonly Link[];
  /**
   * The measured speeds of the links. Undefined until `autoAlgorithm()` of `@coll/multi-worker` has
   * measured them; groups with other algorithms do not measure.
   */
  readonly linkSpeeds: LinkSpeeds | undefined;
  /** The cores, NUMA nodes and caches that were found for this process. */
  readonly machine: Machine;
  /**
   * Whether there is a core for each member that may use the same cores as this one. Otherwise
   * members that wait give their core away soon.
   */
  readonly hasOwnCore: boolean;
  /**
   * The sizes from which members that share memory work in another way, and their source: those of
   * rank 0. Undefined for a group that sends messages.
   */
  readonly calibration: Calibration | undefined;
  /** The explanation as text, with one line per link. */
  readonly text: string;
}

import type { Link } from '@coll/core';

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
  /** The explanation as text, with one line per link. */
  readonly text: string;
}

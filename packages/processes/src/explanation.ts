import type { Link } from '@coll/core';

/** How a group of processes exchanges data, and why so. */
export interface GroupExplanation {
  readonly engine: 'native';
  /** The instructions in use. */
  readonly simd: string;
  /** What plays: all members on shared memory, or messages over the links. */
  readonly player: 'shared-memory' | 'messages';
  readonly links: readonly Link[];
  /** The same in sentences. */
  readonly text: string;
}

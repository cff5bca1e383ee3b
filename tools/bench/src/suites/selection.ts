import type { AlgorithmName } from '../algorithms.js';
import type { PeerName } from '../peers/peers.js';
import type { Engine } from '../trial.js';

/** Which cases are wanted. */
export interface Selection {
  /** The cases that say most, at fewer sizes. */
  readonly isQuick: boolean;
  readonly engines: readonly Engine[];
  readonly peers: readonly PeerName[];
  /** Absent: every suite's own. */
  readonly algorithms: readonly AlgorithmName[] | undefined;
  readonly bytes: readonly number[] | undefined;
}

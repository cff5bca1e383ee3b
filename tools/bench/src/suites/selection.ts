import type { EngineName } from '@coll/core';
import type { AlgorithmName } from '../algorithms.js';
import type { GradientSet } from '../gradients.js';
import type { PeerName, Transport } from '../peers/peers.js';
import type { Form, InputKind, Place } from '../trial.js';

/** Which cases are wanted. */
export interface Selection {
  /** The cases that say most, at fewer sizes. */
  readonly isQuick: boolean;
  /** All of them work here. */
  readonly engines: readonly EngineName[];
  readonly peers: readonly PeerName[];
  /** Whether the memory bound can be measured. */
  readonly hasBound: boolean;
  readonly algorithms: readonly AlgorithmName[];
  readonly places: readonly Place[];
  /** Absent: every suite's own. */
  readonly forms: readonly Form[] | undefined;
  readonly inputs: readonly InputKind[] | undefined;
  readonly bytes: readonly number[] | undefined;
  readonly networks: readonly GradientSet[] | undefined;
  /** Of groups of processes. */
  readonly transports: readonly Transport[];
}

import type { ReplicaInfo, TrainingSummary } from '@coll/strategy/internal';

/** What TensorFlow.js passes to `onBatchBegin` and `onBatchEnd` of one step. */
export interface BatchLogs {
  /** Samples of the step. In `fit` unknown in `onBatchBegin`, and set in the same object before the step. */
  size?: number;
  readonly [name: string]: unknown;
}

/** An epoch of all replicas. */
export interface EndedEpoch {
  /** Rows of all replicas; undefined if not known. */
  readonly rows: number | undefined;
  /** What the steps of the training took so far; undefined for a single replica, and after few steps. */
  readonly summary: TrainingSummary | undefined;
}

/** What callbacks, shares and the optimizer of a replica know of its present step. */
export interface PresentStep {
  /** The object that the callbacks got; undefined without callbacks, and between two steps. */
  logs: BatchLogs | undefined;
  /** Whether this replica wants to end the training. Travels with the gradients of each step. */
  wantsStop: boolean;
  /** Whether the process of this replica was asked to end (SIGTERM), which is why it wants to end the training. */
  wasAsked: boolean;
  /** Whether any replica wants to end the training, as of the latest step that all have made. */
  stops: boolean;
  /** Whether the process of any replica was asked to end, as of that step. */
  wereAsked: boolean;
  /** What is known of the latest epoch that has ended; undefined before. */
  epoch: EndedEpoch | undefined;
  /** Whether all replicas take over settings of the optimizer that one of them has changed. */
  sharesSettings: boolean;
  /** Steps whose gradients are accumulated, and have not changed variables yet. */
  pendingSteps: number;
}

// Kept as long as the context of the replica.
const presentSteps = new WeakMap<ReplicaInfo, PresentStep>();

/** The present step of this replica. */
export function presentStepOf(context: ReplicaInfo): PresentStep {
  const known = presentSteps.get(context) ?? {
    logs: undefined,
    wantsStop: false,
    wasAsked: false,
    stops: false,
    wereAsked: false,
    epoch: undefined,
    sharesSettings: false,
    pendingSteps: 0,
  };
  presentSteps.set(context, known);
  return known;
}

import { CommunicationOptions, type CommunicationOptionsInit, logDeprecated } from '@coll/core';
import {
  MultiWorkerMirroredStrategy,
  type MultiWorkerMirroredStrategyOptions,
} from './multi-worker-mirrored-strategy.js';

/** What the old class took, and what the new one takes beside its options. */
export interface ExperimentalMultiWorkerMirroredStrategyOptions
  extends Omit<MultiWorkerMirroredStrategyOptions, 'communicationOptions'> {
  /** A member of `CommunicationImplementation`. Default: `AUTO`. */
  readonly communication?: CommunicationOptionsInit['implementation'];
}

/**
 * As `MultiWorkerMirroredStrategy`, of which every instance is one of this class, too. The first use logs a warning.
 * @deprecated The old class, of `tf.distribute.experimental`.
 */
export class ExperimentalMultiWorkerMirroredStrategy extends MultiWorkerMirroredStrategy {
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this === ExperimentalMultiWorkerMirroredStrategy) return value instanceof MultiWorkerMirroredStrategy;
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }

  /** @throws as `MultiWorkerMirroredStrategy` */
  constructor({ communication: implementation, ...options }: ExperimentalMultiWorkerMirroredStrategyOptions = {}) {
    logDeprecated('ExperimentalMultiWorkerMirroredStrategy', 'MultiWorkerMirroredStrategy');
    super({ ...options, communicationOptions: new CommunicationOptions({ implementation }) });
  }
}

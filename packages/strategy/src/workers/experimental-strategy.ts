import type { CommunicationOptionsInit } from '@coll/core';
import { knownOptions, logDeprecated, optionsOf } from '@coll/core/internal';
import {
  MultiWorkerMirroredStrategy,
  type MultiWorkerMirroredStrategyOptions,
} from './multi-worker-mirrored-strategy.js';

/**
 * `communication` and the options of `MultiWorkerMirroredStrategy`, except `communicationOptions`.
 */
export interface ExperimentalMultiWorkerMirroredStrategyOptions
  extends Omit<MultiWorkerMirroredStrategyOptions, 'communicationOptions'> {
  /** A member of `CommunicationImplementation`. Default: `AUTO`. */
  readonly communication?: CommunicationOptionsInit['implementation'];
}

const experimentalOptions = knownOptions<ExperimentalMultiWorkerMirroredStrategyOptions>(
  'ExperimentalMultiWorkerMirroredStrategy',
  {
    clusterResolver: true,
    communication: true,
    devices: true,
    crossDeviceOps: true,
    registry: true,
    engine: true,
    startupTimeoutSeconds: true,
    group: true,
    job: true,
    jobKey: true,
    generation: true,
    host: true,
    encrypt: true,
    insecure: true,
    transport: true,
    streams: true,
    heartbeatSeconds: true,
    checkResults: true,
  },
);

/**
 * Equal to `MultiWorkerMirroredStrategy`; `instanceof` holds for instances of either class. The
 * first use logs a warning.
 * @deprecated The old class, of `tf.distribute.experimental`.
 *
 * @example
 * ```ts
 * import { setLogSink } from '@coll/core';
 * import { ExperimentalMultiWorkerMirroredStrategy } from '@coll/strategy';
 *
 * setLogSink(() => {}); // without the warning that the name is deprecated
 * await using strategy = new ExperimentalMultiWorkerMirroredStrategy({ communication: 'RING' });
 * setLogSink();
 * console.log(strategy.numReplicasInSync); // 1
 * ```
 */
export class ExperimentalMultiWorkerMirroredStrategy extends MultiWorkerMirroredStrategy {
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this === ExperimentalMultiWorkerMirroredStrategy) return value instanceof MultiWorkerMirroredStrategy;
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }

  /** @throws the errors of `MultiWorkerMirroredStrategy` */
  constructor(options?: ExperimentalMultiWorkerMirroredStrategyOptions) {
    logDeprecated('ExperimentalMultiWorkerMirroredStrategy', 'MultiWorkerMirroredStrategy');
    const { communication: implementation, ...others } = optionsOf(
      options,
      "{ communication: 'RING' }",
      experimentalOptions,
    );
    super({ ...others, communicationOptions: { implementation } });
  }
}

import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { AutoShardPolicy } from './auto-shard.js';
import { requireWhole } from './sub-batches.js';

/**
 * Whether one dataset feeds all replicas of a worker, or each replica has its own.
 *
 * @example
 * ```ts
 * import { InputOptions, InputReplicationMode } from '@coll/strategy';
 *
 * const experimentalReplicationMode = InputReplicationMode.PER_WORKER;
 * const options = new InputOptions({ experimentalReplicationMode });
 * console.log(options.experimentalReplicationMode); // PER_WORKER
 * ```
 */
export const InputReplicationMode = { PER_WORKER: 'PER_WORKER', PER_REPLICA: 'PER_REPLICA' } as const;

/** `'PER_WORKER'` or `'PER_REPLICA'`. */
export type InputReplicationMode = (typeof InputReplicationMode)[keyof typeof InputReplicationMode];

/** The fields of `InputOptions`, all optional. */
export interface InputOptionsInit {
  /**
   * Whether tensors are marked with their replica's device. Default: true; false leaves their
   * device unchanged.
   */
  readonly experimentalFetchToDevice?: boolean | undefined;
  /**
   * Whether one dataset feeds all replicas of a worker, or each replica has its own. Default:
   * `PER_WORKER`. `PER_REPLICA` is supported only by `distributeDatasetsFromFunction`, which then
   * calls the function once per replica.
   */
  readonly experimentalReplicationMode?: InputReplicationMode | undefined;
  /**
   * Whether the dataset's elements are already on their device. Requires `PER_REPLICA` and
   * `experimentalFetchToDevice: false`. Default: false.
   */
  readonly experimentalPlaceDatasetOnDevice?: boolean | undefined;
  /**
   * Number of prefetched steps, 0 or more. Default: 1. With 0, the source may reuse the memory of a
   * step for the next one.
   */
  readonly experimentalPerReplicaBufferSize?: number | undefined;
  /** Number of items in a full batch of all replicas. Default: the size of the first batch. */
  readonly globalBatchSize?: number | undefined;
  /** How several workers share the dataset. Default: `AUTO`. */
  readonly autoShardPolicy?: AutoShardPolicy | undefined;
  /**
   * Whether all readers, such as the workers of a strategy, are known to have equally many steps in
   * each epoch. They then meet only at the end of an epoch, instead of in each step, and different
   * numbers of steps are an error on all of them. Must be the same on all readers. Default: false.
   */
  readonly equalSteps?: boolean | undefined;
}

const inputOptionsFields = knownOptions<InputOptionsInit>('InputOptions', {
  experimentalFetchToDevice: true,
  experimentalReplicationMode: true,
  experimentalPlaceDatasetOnDevice: true,
  experimentalPerReplicaBufferSize: true,
  globalBatchSize: true,
  autoShardPolicy: true,
  equalSteps: true,
});

/**
 * How input reaches the replicas.
 *
 * @example
 * ```ts
 * import { InputOptions } from '@coll/strategy';
 *
 * const { experimentalPerReplicaBufferSize, autoShardPolicy } = new InputOptions();
 * console.log(experimentalPerReplicaBufferSize, autoShardPolicy); // 1 AUTO
 * ```
 */
export class InputOptions implements InputOptionsInit {
  readonly experimentalFetchToDevice: boolean;
  readonly experimentalReplicationMode: InputReplicationMode;
  readonly experimentalPlaceDatasetOnDevice: boolean;
  readonly experimentalPerReplicaBufferSize: number;
  readonly globalBatchSize: number | undefined;
  readonly autoShardPolicy: AutoShardPolicy;
  readonly equalSteps: boolean;

  /**
   * @throws ValueError for unknown fields or values, sizes that are not whole numbers, and a
   * placement that the mode does not support
   */
  constructor(init?: InputOptionsInit) {
    const fields = optionsOf(init, '{ globalBatchSize: 64 }', inputOptionsFields);
    const { globalBatchSize, experimentalPerReplicaBufferSize = 1, experimentalFetchToDevice = true } = fields;
    requireWhole('experimentalPerReplicaBufferSize', experimentalPerReplicaBufferSize, 0);
    if (globalBatchSize !== undefined) requireWhole('globalBatchSize', globalBatchSize, 1);
    const { experimentalReplicationMode = 'PER_WORKER', autoShardPolicy = 'AUTO' } = fields;
    requireMember('experimentalReplicationMode', experimentalReplicationMode, InputReplicationMode);
    requireMember('autoShardPolicy', autoShardPolicy, AutoShardPolicy);
    this.experimentalFetchToDevice = experimentalFetchToDevice;
    this.experimentalReplicationMode = experimentalReplicationMode;
    this.experimentalPlaceDatasetOnDevice = fields.experimentalPlaceDatasetOnDevice ?? false;
    this.experimentalPerReplicaBufferSize = experimentalPerReplicaBufferSize;
    this.globalBatchSize = globalBatchSize;
    this.autoShardPolicy = autoShardPolicy;
    this.equalSteps = requireBoolean('equalSteps', fields.equalSteps ?? false);
    this.#requirePlacement();
  }

  #requirePlacement(): void {
    if (!this.experimentalPlaceDatasetOnDevice) return;
    if (this.experimentalReplicationMode === 'PER_REPLICA' && !this.experimentalFetchToDevice) return;
    throw new ValueError(
      'ERR_COLL_VALUE',
      'experimentalPlaceDatasetOnDevice needs experimentalReplicationMode: PER_REPLICA and experimentalFetchToDevice: false',
    );
  }
}

/** @throws ValueError unless `options` are valid `InputOptions` or undefined */
export function requireInputOptions(options: InputOptionsInit | undefined): void {
  new InputOptions(options);
}

function requireBoolean(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ValueError('ERR_COLL_VALUE', `${name} must be true or false, got ${quote(value)}`);
}

function requireMember(name: string, value: unknown, members: Readonly<Record<string, string>>): void {
  if (typeof value === 'string' && Object.hasOwn(members, value)) return;
  const known = Object.keys(members).join(', ');
  throw new ValueError('ERR_COLL_VALUE', `${name} must be one of ${known}, got ${quote(value)}`);
}

import { knownOptions, optionsOf } from '@coll/core/internal';

/** The fields of a `ValueContext`, all optional. */
export interface ValueContextInit {
  /** Index of the replica that the value is made for. Default: 0. */
  readonly replicaIdInSyncGroup?: number;
  /** Number of replicas over all workers. Default: 1. */
  readonly numReplicasInSync?: number;
}

const valueContextFields = knownOptions<ValueContextInit>('ValueContext', {
  replicaIdInSyncGroup: true,
  numReplicasInSync: true,
});

/**
 * Identifies the replica that a value is made for.
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const seeds = strategy.experimentalDistributeValuesFromFunction(
 *   ({ replicaIdInSyncGroup, numReplicasInSync }) => 100 * numReplicasInSync + replicaIdInSyncGroup,
 * );
 * console.log(seeds.values); // [ 200, 201 ]
 * ```
 */
export class ValueContext {
  /** Index of the replica that the value is made for: 0 to `numReplicasInSync - 1`. */
  readonly replicaIdInSyncGroup: number;
  /** Number of replicas over all workers. */
  readonly numReplicasInSync: number;

  /** @throws ValueError for unknown fields */
  constructor(init?: ValueContextInit) {
    const { replicaIdInSyncGroup = 0, numReplicasInSync = 1 } = optionsOf(
      init,
      '{ numReplicasInSync: 2 }',
      valueContextFields,
    );
    this.replicaIdInSyncGroup = replicaIdInSyncGroup;
    this.numReplicasInSync = numReplicasInSync;
  }

  /** A text such as `ValueContext(replica id 0, total replicas in sync: 1)`. */
  toString(): string {
    return `ValueContext(replica id ${this.replicaIdInSyncGroup}, total replicas in sync: ${this.numReplicasInSync})`;
  }
}

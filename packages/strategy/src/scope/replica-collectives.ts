import type { CallOptions, DType, ReduceOpLike, ReplicaCallOptions, Tensor } from '@coll/core';
import type { Arriving, Movable, Reduced, ReducedLater, Reducible } from './structure-types.js';

/** The collectives of a replica with the other replicas, and its place among them. */
export interface ReplicaCollectives {
  readonly numReplicasInSync: number;
  /** 0 to `numReplicasInSync - 1`. */
  readonly replicaIdInSyncGroup: number;
  /** The device of this replica, as a list of one. */
  readonly devices: readonly [string];
  /** Whether the `Sync` methods work, which requires that no other replica shares this thread. */
  readonly canBlock: boolean;

  /**
   * Combines a value with the values of all other replicas. `op` is a `ReduceOp` or its name, such
   * as `'mean'`; `options.into` is memory for the results.
   * @throws ValueError for an unknown op or a value that is not a tensor; the errors of
   * `Communicator.run`
   */
  allReduce<const T extends Reducible<T>, Op extends ReduceOpLike>(
    op: Op,
    value: T,
    options?: ReplicaCallOptions,
  ): Promise<Reduced<T, Op>>;

  /**
   * `allReduce` for a structure with promises of values that are still being computed. Returns a
   * structure of promises at once. Values are packed from the last to the first; a pack is closed
   * once it exceeds `bytesPerPack`. A pack is reduced once its values and all values behind it are
   * ready, and its promises then settle. Either all replicas pass promises, or none does. Later
   * calls wait until all packs have finished; a rejected promise ends the group.
   */
  allReduce<const V extends Arriving<V>, Op extends ReduceOpLike>(
    op: Op,
    value: V,
    options?: ReplicaCallOptions,
  ): ReducedLater<V, Op>;

  /**
   * `allReduce` that blocks the thread.
   * @throws RuntimeError if replicas share a thread; the errors of `allReduce`
   */
  allReduceSync<const T extends Reducible<T>, Op extends ReduceOpLike>(
    op: Op,
    value: T,
    options?: ReplicaCallOptions,
  ): Reduced<T, Op>;

  /**
   * Joins the values of all replicas along an axis, in replica order. The length of this axis may
   * differ between replicas, and may be 0.
   * @throws NotImplementedError for sparse values; InvalidArgumentError, the same on all replicas, if
   * other dimensions differ
   */
  allGather<const T extends Reducible<T>>(value: T, axis: number, options?: CallOptions): Promise<Reduced<T>>;

  /**
   * `allGather` that blocks the thread.
   * @throws RuntimeError if replicas share a thread; the errors of `allGather`
   */
  allGatherSync<const T extends Reducible<T>>(value: T, axis: number, options?: CallOptions): Reduced<T>;

  /**
   * Copies the value of replica `root` (default: 0) to every replica; the other replicas pass
   * values of the same shapes.
   * @throws NotImplementedError for sparse values; ValueError for a value that is not a tensor; the
   * errors of `Communicator.run`
   */
  broadcast<const T extends Movable<T>>(value: T, root?: number, options?: ReplicaCallOptions): Promise<Reduced<T>>;

  /**
   * `broadcast` that blocks the thread.
   * @throws RuntimeError if replicas share a thread; the errors of `broadcast`
   */
  broadcastSync<const T extends Movable<T>>(value: T, root?: number, options?: ReplicaCallOptions): Reduced<T>;

  /**
   * Zeros on this replica's device, for gradients and results that are reused. In worker threads,
   * the WebAssembly and JavaScript engines use this memory in place and copy any other. The memory
   * is valid until the run ends; the replicas of a group share at most 2 GiB of it.
   * @throws ValueError for an invalid dtype or shape; CollError if the memory is exhausted
   */
  allocate<D extends DType>(dtype: D, shape: readonly number[]): Tensor<D>;

  /**
   * Passes a value, such as progress or measurements, to the option `onReport` of `run`, without
   * waiting.
   */
  report(value: unknown): void;
}

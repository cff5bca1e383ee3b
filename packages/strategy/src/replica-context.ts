import type {
  CallOptions,
  ReduceOpLike,
  ReplicaCallOptions,
  ReplicaValue,
  Structure,
  Tensor,
  TensorLike,
  Value,
} from '@coll/core';
import type { Strategy } from './strategy.js';

/** What a merge call runs: once for all replicas, with their arguments regrouped. */
export type MergeFunction<Args extends readonly unknown[] = readonly unknown[], Result = unknown> = (
  strategy: Strategy,
  ...args: Args
) => Result | Promise<Result>;

/**
 * What a replica knows of its group and can ask of it. Every replica makes the same calls in the same order. Values may be nested in
 * lists and plain objects, alike on all replicas; results have the same structure.
 */
export interface ReplicaContext {
  readonly strategy: Strategy;
  readonly numReplicasInSync: number;
  /** 0 to `numReplicasInSync - 1`. */
  readonly replicaIdInSyncGroup: number;
  /** The device of this replica, as a list of one. */
  readonly devices: readonly string[];

  /**
   * Combines a value with those of all other replicas: `'mean'`, `ReduceOp.SUM`, … `into` names memory for the results.
   * @throws ValueError for an unknown op or a value that is no tensor; the errors of `Communicator.run`
   */
  allReduce(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Promise<Structure<Value>>;

  /** `allReduce` that blocks the thread. @throws RuntimeError where replicas share a thread */
  allReduceSync(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Structure<Value>;

  /** The values of all replicas joined along an axis, in replica order. @throws NotImplementedError for sparse values */
  allGather(value: ReplicaValue, axis: number, options?: CallOptions): Promise<Structure<Tensor>>;

  /** Replica `root`'s value on every replica; the others hand in values of the same shapes. */
  broadcast(value: Structure<TensorLike>, root?: number, options?: ReplicaCallOptions): Promise<Structure<Tensor>>;

  /** `broadcast` that blocks the thread. @throws RuntimeError where replicas share a thread */
  broadcastSync(value: Structure<TensorLike>, root?: number, options?: ReplicaCallOptions): Structure<Tensor>;

  /**
   * Waits until all replicas have called it, then runs replica 0's `fn(strategy, ...args)` once, outside of any replica, with the
   * arguments regrouped, and gives each replica its part of the result. What `fn` throws ends the run.
   * @throws RuntimeError outside of this replica, or where some replica ends without calling it
   */
  mergeCall<Args extends readonly unknown[], Result>(fn: MergeFunction<Args, Result>, args?: Args): Promise<Result>;

  /** Sends a value to `onReport` of the `run` that this replica belongs to, without waiting: progress, measurements. */
  report(value: unknown): void;
}

import type { ArrivingValue, ReduceOpLike, ReplicaCallOptions, ReplicaValue } from '@coll/core';
import { isArriving } from '@coll/core/internal';
import type { ReplicaContext } from './replica-context.js';
import type { Arriving, Reduced, ReducedLater, Reducible } from './structure-types.js';

/** A replica that reduces values which are there in one way, and values that are still being computed in another. */
export abstract class ReducingReplica implements Pick<ReplicaContext, 'allReduce'> {
  allReduce<const T extends Reducible<T>>(
    op: ReduceOpLike,
    value: T,
    options?: ReplicaCallOptions,
  ): Promise<Reduced<T>>;
  allReduce<const T extends Arriving<T>>(op: ReduceOpLike, value: T, options?: ReplicaCallOptions): ReducedLater<T>;
  allReduce(op: ReduceOpLike, value: ArrivingValue, options?: ReplicaCallOptions): unknown {
    return isArriving(value)
      ? this.reduceArriving(op, value, options)
      : this.reduceReady(op, value as ReplicaValue, options);
  }

  protected abstract reduceReady(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Promise<unknown>;

  /** @returns a structure of promises */
  protected abstract reduceArriving(op: ReduceOpLike, value: ArrivingValue, options?: ReplicaCallOptions): unknown;
}

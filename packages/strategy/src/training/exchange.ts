import type { Tensor, TypedArray } from '@coll/core';
import type { ReplicaContext } from '../scope/strategy.js';

/** How gradients are averaged. */
export interface GradientOptions {
  /**
   * Packs of gradients are closed once they exceed this many bytes; each pack is reduced
   * separately. 0 means a single pack. Default: 0.
   */
  readonly bytesPerPack?: number | undefined;
  /** Maximum seconds to wait for the other replicas. Default: no limit. */
  readonly timeoutSeconds?: number | undefined;
  /**
   * Called once per step with the milliseconds that this replica spent in the all-reduce, including
   * waits for the other replicas.
   */
  readonly onAllReduce?: ((milliseconds: number) => void) | undefined;
}

/**
 * An all-reduce that the caller must execute before the exchange can continue. `into[i]` may use
 * the same memory as `values[i]`.
 */
interface Request {
  readonly op: 'mean' | 'max' | 'min' | 'sum';
  readonly values: readonly (TypedArray | Tensor)[];
  readonly into: readonly (TypedArray | Tensor)[];
}

/**
 * A generator that yields the all-reduces that it needs. The code that runs the generator executes
 * them, either blocking or asynchronously.
 */
export type Exchange<Result> = Generator<Request, Result, undefined>;

/** Which of how many replicas this is. */
export type ReplicaInfo = Pick<ReplicaContext, 'numReplicasInSync' | 'replicaIdInSyncGroup'>;

export type SyncReducer = Pick<ReplicaContext, 'allReduceSync'>;
export type AsyncReducer = Pick<ReplicaContext, 'allReduce'>;

/**
 * Executes an exchange (a generator of all-reduces) to its end, blocking the thread in each
 * all-reduce.
 */
export function exchangeSync<Result>(
  exchange: Exchange<Result>,
  context: SyncReducer,
  options: GradientOptions = {},
): Result {
  const { onAllReduce, ...communication } = options;
  let milliseconds = 0;
  let next = exchange.next();
  while (!next.done) {
    const { op, values, into } = next.value;
    const begin = performance.now();
    context.allReduceSync(op, values, { ...communication, into });
    milliseconds += performance.now() - begin;
    next = exchange.next();
  }
  onAllReduce?.(milliseconds);
  return next.value;
}

/** Executes an exchange (a generator of all-reduces) to its end, without blocking the thread. */
export async function exchange<Result>(
  steps: Exchange<Result>,
  context: AsyncReducer,
  options: GradientOptions = {},
): Promise<Result> {
  const { onAllReduce, ...communication } = options;
  let milliseconds = 0;
  let next = steps.next();
  while (!next.done) {
    const { op, values, into } = next.value;
    const begin = performance.now();
    await context.allReduce(op, values, { ...communication, into });
    milliseconds += performance.now() - begin;
    next = steps.next();
  }
  onAllReduce?.(milliseconds);
  return next.value;
}

import type { CallOptions, ReduceOp, Tensor } from '@coll/core';

/**
 * The workers of a strategy, for what they do together beside the collectives of its ops. All of them make the same calls in the same
 * order. Those without a promise block the thread until all workers have come.
 */
export interface WorkerGroup {
  /** How many there are. */
  readonly size: number;
  /** What that worker hands in, on all of them; the others hand in values of the same shapes. */
  broadcast(values: readonly Tensor[], worker: number, options?: CallOptions): Promise<readonly Tensor[]>;
  /** The same, blocking. @throws RuntimeError while the group of workers is not open yet */
  broadcastSync(value: Tensor, worker: number, options?: CallOptions): Tensor;
  /** What all workers hand in, combined. */
  allReduce(op: ReduceOp, value: Tensor, options?: CallOptions): Promise<Tensor>;
  /** The same, blocking. @throws RuntimeError while the group of workers is not open yet */
  allReduceSync(op: ReduceOp, value: Tensor): Tensor;
}

/** This worker alone. */
export const oneWorker: WorkerGroup = Object.freeze({
  size: 1,
  broadcast: async (values: readonly Tensor[]) => values,
  broadcastSync: (value: Tensor) => value,
  allReduce: async (_op: ReduceOp, value: Tensor) => value,
  allReduceSync: (_op: ReduceOp, value: Tensor) => value,
});

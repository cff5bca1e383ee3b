import { asTensor, type CallOptions, ReduceOp, type Tensor, type Turn } from '@coll/core';
import type { Purpose } from '@coll/core/plugin';
import { Readers, readersOf } from '../data/readers.js';

/**
 * The workers of a strategy, for communication without its cross-device ops. All workers make the
 * same calls in the same order. Methods that do not return a promise block the thread until all
 * workers have arrived.
 */
export interface WorkerGroup {
  /** Number of workers. */
  readonly size: number;
  /**
   * Copies the values of `worker` for a variable to all workers; the others pass values of the same
   * shapes.
   */
  broadcast(values: readonly Tensor[], worker: number, options?: CallOptions): Promise<readonly Tensor[]>;
  /** `broadcast` that blocks. @throws RuntimeError while the group of workers is not open yet */
  broadcastSync(value: Tensor, worker: number, options?: CallOptions): Tensor;
  /** Combines the values of all workers, which have the same shape and dtype. */
  allReduce(op: ReduceOp, value: Tensor, options?: CallOptions): Promise<Tensor>;
  /** `allReduce` for a purpose of the library's own, which never matches a call of a program. */
  allReduceFor(purpose: Purpose, op: ReduceOp, value: Tensor, options?: CallOptions): Promise<Tensor>;
  /**
   * Makes calls that run between no others, because their options contain this turn. A single worker
   * has no turns.
   */
  inTurn<Result>(calls: (turn?: Turn) => Promise<Result>): Promise<Result>;
  /**
   * `allReduce` for a variable, which blocks.
   * @throws RuntimeError while the group of workers is not open yet
   */
  allReduceSync(op: ReduceOp, value: Tensor): Tensor;
  /** Counts a call that this worker has refused with `error`. Workers compare their counts in the next call. */
  refuse(error: unknown): void;
}

/** A single worker. */
export const oneWorker: WorkerGroup = Object.freeze({
  size: 1,
  broadcast: async (values: readonly Tensor[]) => values,
  broadcastSync: (value: Tensor) => value,
  allReduce: async (_op: ReduceOp, value: Tensor) => value,
  allReduceFor: async (_purpose: Purpose, _op: ReduceOp, value: Tensor) => value,
  inTurn: <Result>(calls: () => Promise<Result>) => calls(),
  allReduceSync: (_op: ReduceOp, value: Tensor) => value,
  refuse: () => {},
});

/** The workers of a strategy, as readers of datasets. */
export function readersIn(workers: WorkerGroup): Readers {
  const create = () =>
    new Readers({
      what: 'worker',
      max: (numbers) => workers.allReduceFor('input', ReduceOp.MAX, asTensor(numbers)),
      refuse: (error) => workers.refuse(error),
    });
  return readersOf(workers, create);
}

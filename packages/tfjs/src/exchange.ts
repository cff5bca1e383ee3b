import type { TypedArray } from '@coll/core';
import { knownOptions } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';

/** How gradients are averaged. */
export interface GradientOptions {
  /** Bytes after which a pack of gradients is closed. Default, and 0: one pack. */
  readonly bytesPerPack?: number | undefined;
  /** Longest time to wait for the other replicas. Default: for ever. */
  readonly timeoutSeconds?: number | undefined;
  /** Called once a step with the time that this replica spent in the all-reduce, waiting for the others included. */
  readonly onAllReduce?: ((milliseconds: number) => void) | undefined;
}

export const gradientOptions = knownOptions<GradientOptions>('distributedOptimizer', {
  bytesPerPack: true,
  timeoutSeconds: true,
  onAllReduce: true,
});

/** An all-reduce that has to be done before the work goes on. `into[i]` may be the memory of `values[i]`. */
interface Request {
  readonly op: 'mean' | 'max' | 'sum';
  readonly values: readonly TypedArray[];
  readonly into: readonly TypedArray[];
}

/** Work that is the same whether the replica blocks or awaits in its all-reduces. */
export type Exchange<Result> = Generator<Request, Result, undefined>;

export type SyncReducer = Pick<ReplicaContext, 'allReduceSync'>;
export type AsyncReducer = Pick<ReplicaContext, 'allReduce'>;

/** Plays an exchange, blocking the thread. */
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

/** The same without blocking. */
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

import { OutOfRangeError, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import type { Sharding } from './auto-shard.js';

/**
 * Identifies worker `workerIndex` of `numWorkers` workers, which have `replicasPerWorker` replicas
 * each.
 */
export interface WorkerPlace {
  readonly numWorkers: number;
  readonly workerIndex: number;
  readonly replicasPerWorker: number;
}

const batchSizesOptions = knownOptions<WorkerPlace & { readonly globalBatchSize: number }>('batchSizesForWorker', {
  numWorkers: true,
  workerIndex: true,
  replicasPerWorker: true,
  globalBatchSize: true,
});

/** Items `[begin, end)` of a batch. */
export interface Range {
  readonly begin: number;
  readonly end: number;
}

/**
 * How a worker that reads its own input splits each global batch. The result has one size for each
 * of the `numWorkers * replicasPerWorker` sub-batches; the worker's replicas use
 * `replicasPerWorker` of them per step. Sizes are as even as possible, larger ones first. Each
 * worker rotates them differently, so that the sub-batches that all workers use in one step add up
 * to the global batch size.
 * @throws ValueError for sizes that are not whole numbers, OutOfRangeError for a worker out of
 * range
 *
 * @example
 * ```ts
 * import { batchSizesForWorker } from '@coll/strategy';
 *
 * const workers = { globalBatchSize: 7, numWorkers: 2, replicasPerWorker: 2 };
 * console.log(batchSizesForWorker({ ...workers, workerIndex: 0 })); // [ 2, 2, 2, 1 ]
 * console.log(batchSizesForWorker({ ...workers, workerIndex: 1 })); // [ 2, 1, 2, 2 ]
 * ```
 */
export function batchSizesForWorker(options: WorkerPlace & { readonly globalBatchSize: number }): number[] {
  const example = '{ globalBatchSize: 64, numWorkers: 2, workerIndex: 0, replicasPerWorker: 1 }';
  const { globalBatchSize, ...place } = optionsOf(options, example, batchSizesOptions) as typeof options;
  requireWhole('globalBatchSize', globalBatchSize, 0);
  requirePlace(place);
  return rotated(evenSizes(globalBatchSize, place.numWorkers * place.replicasPerWorker), place);
}

/**
 * The steps that a worker makes of one batch: for each step, the items of each of its replicas. If
 * all workers read the same batch, each worker takes its own sub-batches, in one step. If only this
 * worker reads the batch, this worker takes all sub-batches, in up to `numWorkers` steps.
 */
export function stepsOfBatch(sizes: readonly number[], place: WorkerPlace, sharding: Sharding): Range[][] {
  const { numWorkers, workerIndex, replicasPerWorker } = place;
  const ranges = rangesOf(sharding === 'DATA' ? sizes : rotated(sizes, place));
  const steps = Array.from({ length: numWorkers }, (_, step) =>
    ranges.slice(step * replicasPerWorker, (step + 1) * replicasPerWorker),
  );
  if (sharding === 'DATA') return steps.slice(workerIndex, workerIndex + 1);
  return steps.filter((step, index) => index === 0 || step.some(({ begin, end }) => begin < end));
}

/** Splits `total` into `parts` sizes that differ by at most one, larger ones first. */
export function evenSizes(total: number, parts: number): number[] {
  const smaller = Math.floor(total / parts);
  return Array.from({ length: parts }, (_, index) => (index < total % parts ? smaller + 1 : smaller));
}

/**
 * Splits `total` into `parts` sizes. Each is `total / parts`, rounded up, while items remain; the
 * last ones may be smaller or 0.
 */
export function sizesUntilExhausted(total: number, parts: number): number[] {
  const each = Math.ceil(total / parts);
  return Array.from({ length: parts }, (_, index) => Math.max(0, Math.min(each, total - index * each)));
}

function rotated(sizes: readonly number[], { workerIndex, replicasPerWorker }: WorkerPlace): number[] {
  const offset = workerIndex * replicasPerWorker;
  return [...sizes.slice(offset), ...sizes.slice(0, offset)];
}

function rangesOf(sizes: readonly number[]): Range[] {
  let begin = 0;
  return sizes.map((size) => {
    const range = { begin, end: begin + size };
    begin = range.end;
    return range;
  });
}

function requirePlace({ numWorkers, workerIndex, replicasPerWorker }: WorkerPlace): void {
  requireWhole('numWorkers', numWorkers, 1);
  requireWhole('replicasPerWorker', replicasPerWorker, 1);
  if (numWorkers * replicasPerWorker > mostReplicas) {
    const message = `numWorkers times replicasPerWorker must be at most ${mostReplicas}, got ${numWorkers * replicasPerWorker}`;
    throw new ValueError('ERR_COLL_VALUE', message);
  }
  if (Number.isInteger(workerIndex) && workerIndex >= 0 && workerIndex < numWorkers) return;
  throw new OutOfRangeError(`workerIndex must be below numWorkers ${numWorkers}, got ${quote(workerIndex)}`);
}

// The maximum number of ranks in a group.
const mostReplicas = 2 ** 16;

/** @throws ValueError unless `value` is a whole number, `least` or more */
export function requireWhole(name: string, value: unknown, least: number): void {
  if (Number.isInteger(value) && (value as number) >= least) return;
  throw new ValueError('ERR_COLL_VALUE', `${name} must be a whole number, ${least} or more, got ${quote(value)}`);
}

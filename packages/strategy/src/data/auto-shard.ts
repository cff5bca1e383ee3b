import { ValueError } from '@coll/core';
import { logFirst } from '@coll/core/plugin';

/**
 * How workers share a dataset that all of them receive. `FILE`: each worker reads its own files.
 * `DATA`: each worker reads everything and keeps its part of every batch. `AUTO`: `FILE` if the
 * dataset is made of at least one file per worker, else `DATA`. `OFF`: every worker uses the whole
 * dataset.
 *
 * @example
 * ```ts
 * import { AutoShardPolicy, InputOptions } from '@coll/strategy';
 *
 * console.log(new InputOptions({ autoShardPolicy: AutoShardPolicy.OFF }).autoShardPolicy); // OFF
 * ```
 */
export const AutoShardPolicy = { OFF: 'OFF', AUTO: 'AUTO', FILE: 'FILE', DATA: 'DATA' } as const;

/** `'OFF'`, `'AUTO'`, `'FILE'` or `'DATA'`. */
export type AutoShardPolicy = (typeof AutoShardPolicy)[keyof typeof AutoShardPolicy];

/** The policy that is applied to a dataset, after `AUTO` was replaced by `FILE` or `DATA`. */
export type Sharding = Exclude<AutoShardPolicy, 'AUTO'>;

/**
 * How workers share a dataset. `fileCount` is undefined if the dataset is not made of files. A
 * single worker reads everything.
 * @throws ValueError for sharding by file with fewer files than workers
 */
export function shardingOf(policy: AutoShardPolicy, fileCount: number | undefined, numWorkers: number): Sharding {
  if (numWorkers === 1) return 'DATA';
  if (policy === 'OFF' || policy === 'DATA') return policy;
  if ((fileCount ?? 0) >= numWorkers) return 'FILE';
  const what = fileCount === undefined ? 'a dataset without a list of files' : `a dataset of ${fileCount} files`;
  if (policy === 'FILE') {
    throw new ValueError(
      'ERR_COLL_VALUE',
      `${what} cannot be sharded by file across ${numWorkers} workers: pass { files, read } with at least one file per worker, or shard by data`,
    );
  }
  if (fileCount !== undefined) {
    const message = `${what} has too few files for ${numWorkers} workers, so every worker reads all files and keeps its part of the data`;
    logFirst(1, 'auto-shard', 'warn', message);
  }
  return 'DATA';
}

/** Every `numWorkers`-th file, starting with file `workerIndex`. */
export function filesOfWorker<File>(files: readonly File[], numWorkers: number, workerIndex: number): File[] {
  return files.filter((_, index) => index % numWorkers === workerIndex);
}

import { log, recorder, StallReporter, stallText, type WaitingRanks } from '@coll/core/internal';
import { hasStallReader, host, stallSecondsFrom } from '../host.js';

export interface ReplicaStallsOptions {
  /** Number of the first replica of this process. */
  readonly firstReplica: number;
  /** The replicas of this process that wait for others of this process, by their number in this process. */
  readonly waiting: () => WaitingRanks | undefined;
  readonly hasFailed: () => boolean;
}

/**
 * Warns if replicas in threads wait too long for each other: after `COLL_STALL_SECONDS`, after each
 * doubling of the time, and once more when all have arrived. This thread asks, because the threads
 * of the replicas may block.
 * @returns a function that ends the watch
 * @throws ValueError for an invalid `COLL_STALL_SECONDS`
 */
export function watchReplicas({ firstReplica, waiting, hasFailed }: ReplicaStallsOptions): () => void {
  const seconds = stallSecondsFrom();
  if (seconds === undefined || hasStallReader()) return () => {};
  const named = (replicas: readonly number[]) => replicas.map((replica) => firstReplica + replica);
  let found: WaitingRanks | undefined;
  let since = 0;
  const reporter = new StallReporter({
    seconds,
    repeats: true,
    tell: (_, stall, hasResumed) => {
      if (!stall && hasResumed) log('warn', 'no longer stalled: all replicas have resumed');
      if (!stall || !found) return;
      const text = stallText({
        ...stall,
        missing: named(found.missing),
        waiting: named(found.waiting),
        noun: 'replica',
      });
      recorder?.note({ kind: 'stall', text });
      log('warn', `stalled: ${text}`);
    },
  });
  const check = () => {
    const before = found;
    found = waiting();
    if (found?.count !== before?.count || found?.operation !== before?.operation) since = performance.now();
    const { operation, count = 0, missing = [] } = found ?? {};
    const call =
      operation === undefined
        ? undefined
        : { key: `${operation} ${count}`, since, describe: () => ({ operation, missing }) };
    reporter.check(call, !hasFailed());
  };
  const endChecks = host.every(seconds * 250, check);
  return () => {
    endChecks();
    if (reporter.isReported) reporter.check(undefined, !hasFailed());
  };
}

import { availableParallelism } from 'node:os';
import { AbortedError, type Engine } from '@coll/core';
import { ReplicaThreads } from './replica-threads.js';
import { ReplicaWorker } from './replica-worker.js';
import type { RunOptions } from './run-options.js';
import type { ThreadStart } from './thread-messages.js';
import { encode } from './thread-values.js';

/** The replicas to run, their code, and their environment. */
export interface ThreadRun {
  readonly engine: Engine;
  readonly devices: readonly string[];
  readonly firstReplica: number;
  readonly home: ThreadStart['home'];
  readonly module: URL;
  readonly argsOf: (replica: number) => readonly unknown[];
  readonly options: RunOptions;
  /**
   * The replicas of other workers, which fail together with this worker's replicas. Default: none.
   */
  readonly others?: OtherReplicas;
}

/** The replicas of other workers, as seen by this worker. */
export interface OtherReplicas {
  /**
   * The failure of one of the other workers' replicas; undefined if none has failed. Polled
   * repeatedly.
   */
  failure(): Error | undefined;
  /** Notifies the replicas of other workers that a replica of this worker has failed. */
  fail(error: unknown): void;
}

const lookMillis = 100;

// Threads with nothing left to do end by themselves; others are terminated after this time.
const graceMillis = { afterSuccess: 500, afterFailure: 200 };

/**
 * Runs a module as replicas in worker threads, which share a thread group for their collectives.
 * @throws the error of the first replica that fails, with its number; all other replicas are then
 * terminated
 */
export async function runReplicaThreads(run: ThreadRun): Promise<unknown[]> {
  const { signal } = run.options;
  if (signal?.aborted)
    throw new AbortedError('ERR_COLL_ABORTED', 'run was aborted before it began', { cause: signal.reason });
  const threads = startThreads(run);
  const abort = () => threads.abort(signal?.reason);
  signal?.addEventListener('abort', abort);
  const look = setInterval(() => {
    const failure = run.others?.failure();
    if (failure) threads.fail(failure);
  }, lookMillis);
  try {
    const results = await threads.results;
    await threads.end(graceMillis.afterSuccess);
    return results;
  } catch (error) {
    // Notifies other workers before threads are terminated, so that they receive this error and not
    // one about lost threads.
    run.others?.fail(error);
    await threads.end(graceMillis.afterFailure);
    throw error;
  } finally {
    clearInterval(look);
    signal?.removeEventListener('abort', abort);
  }
}

function startThreads({ engine, devices, firstReplica, home, module, argsOf, options }: ThreadRun): ReplicaThreads {
  const size = devices.length;
  // If threads outnumber cores, a spinning thread keeps others from running.
  const group = engine.createGroup(size <= availableParallelism() ? { size } : { size, spins: 0 });
  const start = { devices, firstReplica, group, home, module: module.href, exportName: options.exportName };
  return new ReplicaThreads({ group, firstReplica, onReport: options.onReport }, (replica, listener) => {
    return new ReplicaWorker({ ...start, replica, args: encode(argsOf(replica)) }, listener);
  });
}

import { availableParallelism } from 'node:os';
import {
  AbortedError,
  type CollError,
  createThreadGroup,
  failThreadGroup,
  InternalError,
  RuntimeError,
  type ThreadGroup,
} from '@coll/core';
import { MergeCalls } from './merge-calls.js';
import { annotate } from './replica-error.js';
import { type ReplicaListener, ReplicaWorker } from './replica-worker.js';
import type { RunOptions } from './strategy.js';
import { decodeError } from './thread-errors.js';
import type { ReplicaMessage, ThreadStart } from './thread-messages.js';
import { decode, encode } from './thread-values.js';

export interface ThreadRun {
  readonly devices: readonly string[];
  readonly plugin: ThreadStart['plugin'];
  readonly module: URL;
  readonly argsOf: (replica: number) => readonly unknown[];
  readonly options: RunOptions;
}

// Threads with nothing left to do end by themselves, others are ended after this.
const graceMillis = { afterSuccess: 500, afterFailure: 200 };

// How much later than what others suffer from it an error may be heard.
const consequenceMillis = 500;

/**
 * Runs a module as replicas in worker threads, which share a thread group for their collectives.
 * @throws the error of the first replica that fails, with its number; all others are ended then
 */
export async function runReplicaThreads(run: ThreadRun): Promise<unknown[]> {
  const { signal } = run.options;
  if (signal?.aborted)
    throw new AbortedError('ERR_COLL_ABORTED', 'run was aborted before it began', { cause: signal.reason });
  const threads = new ReplicaThreads(run);
  const abort = () => threads.abort(signal?.reason);
  signal?.addEventListener('abort', abort);
  try {
    const results = await threads.results;
    await threads.end(graceMillis.afterSuccess);
    return results;
  } catch (error) {
    await threads.end(graceMillis.afterFailure);
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** What the threads say, and what comes of it. */
class ReplicaThreads implements ReplicaListener {
  /** What the replicas return, decided by the first failure. */
  readonly results: Promise<unknown[]>;
  readonly #workers: ReplicaWorker[] = [];
  readonly #group: ThreadGroup;
  readonly #onReport: RunOptions['onReport'];
  readonly #merges: MergeCalls;
  readonly #done = new Map<number, unknown>();
  readonly #hasToldError = new Set<number>();
  readonly #timers: NodeJS.Timeout[] = [];
  #resolve: (results: unknown[]) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor({ devices, plugin, module, argsOf, options }: ThreadRun) {
    const size = devices.length;
    this.results = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Who spins where there are more threads than cores keeps the others from running.
    this.#group = createThreadGroup(size <= availableParallelism() ? { size } : { size, spins: 0 });
    this.#onReport = options.onReport;
    this.#merges = new MergeCalls(size);
    const start = { devices, group: this.#group, plugin, module: module.href, exportName: options.exportName };
    try {
      for (const replica of devices.keys())
        this.#workers.push(new ReplicaWorker({ ...start, replica, args: encode(argsOf(replica)) }, this));
    } catch (error) {
      this.#fail(this.#workers.length, error);
    }
  }

  abort(reason: unknown): void {
    this.#fail(0, new AbortedError('ERR_COLL_ABORTED', 'run was aborted', { cause: reason }), 'aborted');
  }

  async end(grace: number): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.end(grace)));
  }

  message(replica: number, message: ReplicaMessage): void {
    try {
      this.#hear(replica, message);
    } catch (error) {
      this.#fail(replica, error);
    }
  }

  exit(replica: number, code: number, error: unknown): void {
    if (this.#hasToldError.has(replica) || (this.#done.has(replica) && error === undefined)) return;
    const told = `replica ${replica}: its thread ended with exit code ${code} before it returned`;
    this.#hearError(
      replica,
      error === undefined ? new RuntimeError('ERR_COLL_REPLICA', told, { rank: replica }) : annotate(error, replica),
    );
  }

  #hear(replica: number, message: ReplicaMessage): void {
    switch (message.type) {
      case 'report':
        this.#onReport?.(replica, decode(message.value));
        return;
      case 'merge':
        this.#merges.add(replica, message.args);
        this.#holdMerge();
        return;
      case 'merged':
        this.#merges.end();
        for (const worker of this.#workers)
          worker.tell({ type: 'outcome', value: message.results[worker.replica] }, 'the result of a merge call');
        this.#holdMerge();
        return;
      case 'mergeFailed':
        this.#fail(replica, decodeError(message.error));
        return;
      case 'result':
        this.#done.set(replica, decode(message.value));
        this.#holdMerge();
        if (this.#done.size === this.#workers.length)
          this.#resolve(this.#workers.map((worker) => this.#done.get(worker.replica)));
        return;
      case 'error':
        this.#hasToldError.add(replica);
        this.#hearError(replica, decodeError(message.error));
    }
  }

  /** Once all threads wait in a merge call, replica 0 holds it for all. */
  #holdMerge(): void {
    const waiting = this.#merges.replicas;
    const [ended] = this.#done.keys();
    if (waiting.length > 0 && ended !== undefined) {
      const told = `replicas made a different number of merge_call: replica ${ended} has ended while replica ${waiting.join(', ')} waits`;
      this.#fail(ended, new RuntimeError('ERR_COLL_MERGE', told, { rank: ended, operation: 'mergeCall' }));
      return;
    }
    const args = this.#merges.next();
    if (args) this.#workers[0]?.tell({ type: 'hold', args }, 'an argument of a merge call');
  }

  #hearError(replica: number, error: Error): void {
    const { code, rank } = error as Partial<CollError>;
    // What a replica suffers because another one failed may be heard before that one's own error, which is the one to tell.
    if (code === 'ERR_COLL_PEER_FAILED' && rank !== replica)
      this.#timers.push(setTimeout(() => this.#fail(replica, error), consequenceMillis));
    // What other threads have said by now may say more about it.
    else setImmediate(() => this.#fail(replica, this.#explained(error)));
  }

  /** A merge call is noticed by the others as the collective that it does. */
  #explained(error: Error): Error {
    const merging = this.#merges.replicas;
    const mismatches = ['ERR_COLL_MISMATCH', 'ERR_COLL_SHAPE_MISMATCH', 'ERR_COLL_DTYPE_MISMATCH'];
    if (merging.length === 0 || !mismatches.includes((error as Partial<CollError>).code as string)) return error;
    const told = `replicas do different things together: replica ${merging.join(', ')} calls mergeCall, but not all do`;
    return new InternalError('ERR_COLL_MISMATCH', `${told}; ${error.message}`, {
      cause: error,
      operation: 'mergeCall',
    });
  }

  #fail(replica: number, error: unknown, reason: 'peer' | 'aborted' = 'peer'): void {
    failThreadGroup(this.#group, replica, error instanceof Error ? error.message : String(error), reason);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#reject(error);
  }
}

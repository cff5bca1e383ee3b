import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import {
  AbortedError,
  CollError,
  createThreadGroup,
  failThreadGroup,
  RuntimeError,
  type ThreadGroup,
} from '@coll/core';
import { loadingOf } from './module-loading.js';
import { annotate } from './replica-error.js';
import type { RunOptions } from './strategy.js';
import {
  decode,
  decodeError,
  encode,
  type FromReplica,
  notCloneable,
  post,
  type ThreadStart,
} from './thread-messages.js';

export interface ThreadRun {
  readonly devices: readonly string[];
  readonly plugin: ThreadStart['plugin'];
  readonly module: URL;
  readonly argsOf: (replica: number) => readonly unknown[];
  readonly options: RunOptions;
}

// CommonJS, because a worker that is started from text is. It brings the TypeScript loader before the first module.
const bootstrap = `
const { workerData } = require('node:worker_threads');
(async () => {
  if (workerData.tsx) (await import(workerData.tsx)).register();
  await import(workerData.entry);
})();
`;

// Threads that have nothing left to do end by themselves; those that do not are ended after this.
const graceMillis = 500;

/**
 * Runs a module as replicas in worker threads, which share a thread group for their collectives.
 * @throws the error of the first replica that fails, with its number; all others are ended then
 */
export async function runReplicaThreads(run: ThreadRun): Promise<unknown[]> {
  const { options, devices, module } = run;
  if (options.signal?.aborted)
    throw new AbortedError('ERR_COLL_ABORTED', 'run was aborted before it began', { cause: options.signal.reason });
  const entry = new URL(`./replica-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url).href;
  const { tsx, execArgv } = loadingOf([module.href, run.plugin.module]);
  const spins = devices.length <= availableParallelism() ? undefined : 0;
  const group = createThreadGroup({ size: devices.length, ...(spins === undefined ? {} : { spins }) });
  const threads: ReplicaThread[] = [];
  try {
    for (const replica of devices.keys()) {
      const start: ThreadStart = {
        replica,
        devices,
        group,
        plugin: run.plugin,
        module: module.href,
        exportName: options.exportName,
        args: encode(run.argsOf(replica)),
      };
      threads.push(new ReplicaThread({ ...start, tsx, entry }, execArgv));
    }
    return await new ReplicaThreads(threads, group, options).results;
  } finally {
    await Promise.all(threads.map((thread) => thread.end()));
  }
}

/** One worker, and whether it is still there. */
class ReplicaThread {
  readonly replica: number;
  readonly worker: Worker;
  readonly exited: Promise<number>;
  isExpectedToEnd = false;

  constructor(start: ThreadStart & { tsx: string | undefined; entry: string }, execArgv: readonly string[]) {
    this.replica = start.replica;
    try {
      this.worker = new Worker(bootstrap, {
        eval: true,
        workerData: start,
        execArgv: [...execArgv],
        name: `coll replica ${start.replica}`,
      });
    } catch (cause) {
      throw cause instanceof DOMException ? notCloneable('an argument or a plug-in option of a replica', cause) : cause;
    }
    this.exited = new Promise((resolve) => {
      this.worker.once('exit', resolve);
    });
  }

  async end(): Promise<void> {
    const timer = setTimeout(() => this.worker.terminate(), this.isExpectedToEnd ? graceMillis : 0);
    await this.exited;
    clearTimeout(timer);
  }
}

/** What the threads say, and what comes of it. */
class ReplicaThreads {
  readonly results: Promise<unknown[]>;
  readonly #threads: readonly ReplicaThread[];
  readonly #group: ThreadGroup;
  readonly #onReport: RunOptions['onReport'];
  readonly #done = new Map<number, unknown>();
  readonly #merging = new Map<number, unknown>();
  #resolve: (results: unknown[]) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(threads: readonly ReplicaThread[], group: ThreadGroup, { onReport, signal }: RunOptions) {
    this.#threads = threads;
    this.#group = group;
    this.#onReport = onReport;
    this.results = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    for (const thread of threads) this.#listen(thread);
    const abort = () =>
      this.#fail(0, new AbortedError('ERR_COLL_ABORTED', 'run was aborted', { cause: signal?.reason }), 'aborted');
    signal?.addEventListener('abort', abort);
    this.results.catch(() => {}).finally(() => signal?.removeEventListener('abort', abort));
  }

  #listen(thread: ReplicaThread): void {
    const { worker, replica } = thread;
    worker.on('message', (message: FromReplica) => {
      try {
        this.#hear(thread, message);
      } catch (error) {
        this.#fail(replica, error);
      }
    });
    worker.on('error', (error) => this.#fail(replica, annotate(error, replica)));
    worker.on('messageerror', (error) => this.#fail(replica, annotate(error, replica)));
    void thread.exited.then((code) => {
      if (this.#done.has(replica)) return;
      this.#fail(
        replica,
        new RuntimeError(
          'ERR_COLL_REPLICA',
          `replica ${replica}: its thread ended with exit code ${code} before it returned`,
          { rank: replica },
        ),
      );
    });
  }

  #hear(thread: ReplicaThread, message: FromReplica): void {
    const { replica } = thread;
    switch (message.type) {
      case 'report':
        this.#onReport?.(replica, decode(message.value));
        return;
      case 'merge':
        this.#merging.set(replica, message.args);
        this.#holdMerge();
        return;
      case 'merged':
        for (const other of this.#threads)
          post(other.worker, { type: 'outcome', value: message.results[other.replica] }, 'the result of a merge call');
        return;
      case 'result':
        thread.isExpectedToEnd = true;
        this.#done.set(replica, decode(message.value));
        this.#holdMerge();
        if (this.#done.size === this.#threads.length)
          this.#resolve(this.#threads.map((other) => this.#done.get(other.replica)));
        return;
      case 'error':
        this.#hearError(replica, annotate(decodeError(message.error), replica) as Error);
    }
  }

  /** Once all threads wait in a merge call, replica 0 holds it for all. */
  #holdMerge(): void {
    if (this.#merging.size === 0 || this.#merging.size + this.#done.size < this.#threads.length) return;
    if (this.#done.size > 0) {
      const [ended] = this.#done.keys();
      const told = `replicas made a different number of merge_call: replica ${ended} has ended while replica ${[...this.#merging.keys()].join(', ')} waits`;
      this.#fail(
        ended as number,
        new RuntimeError('ERR_COLL_MERGE', told, { rank: ended as number, operation: 'mergeCall' }),
      );
      return;
    }
    const args = this.#threads.map(({ replica }) => this.#merging.get(replica));
    this.#merging.clear();
    post((this.#threads[0] as ReplicaThread).worker, { type: 'hold', args }, 'an argument of a merge call');
  }

  // What a replica suffers because another one failed may be heard before that one's own error, which is the one to tell.
  #hearError(replica: number, error: Error): void {
    const isConsequence = error instanceof CollError && error.code === 'ERR_COLL_PEER_FAILED' && error.rank !== replica;
    if (isConsequence) setTimeout(() => this.#fail(replica, error), graceMillis).unref();
    else this.#fail(replica, error);
  }

  #fail(replica: number, error: unknown, reason: 'peer' | 'aborted' = 'peer'): void {
    failThreadGroup(this.#group, replica, error instanceof Error ? error.message : String(error), reason);
    this.#reject(error);
  }
}

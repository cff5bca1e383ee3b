import { existsSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { CollError } from '@coll/core';
import { Latch } from './latch.js';
import { loadingOf } from './module-loading.js';
import type { ReplicaListener, ReplicaThread } from './replica-threads.js';
import { type FromReplica, notCloneable, post, type ThreadStart, type ToReplica } from './thread-messages.js';

// This text must work both as a script and, under --input-type=module, as a module. It registers
// tsx before it imports the entry.
const bootstrap = `
import('node:worker_threads').then(async ({ workerData: { tsx, entry } }) => {
  if (tsx?.isCommonJs) (await import(tsx.cjs)).register();
  if (tsx) (await import(tsx.esm)).register();
  if (tsx?.isCommonJs) (await import('node:module')).createRequire(entry)((await import('node:url')).fileURLToPath(entry));
  else await import(entry);
});
`;

/** The worker thread of one replica. */
export class ReplicaWorker implements ReplicaThread {
  readonly #worker: Worker;
  /** Opens when the replica's result or error has arrived. */
  readonly #told = new Latch();
  /** Opens when all output of the thread has arrived. */
  readonly #printed = new Latch();
  readonly #exited = new Latch();
  /** Opens when this process has printed all output of the thread. */
  readonly #shown = new Latch();
  /** Number of output chunks that have arrived. */
  #chunks = 0;

  /**
   * @throws RuntimeError for arguments and options that cannot be posted, CollError for modules
   * that cannot be loaded
   */
  constructor(start: ThreadStart, listener: ReplicaListener) {
    const { replica } = start;
    const worker = startWorker(start);
    this.#worker = worker;
    let crash: unknown;
    worker.on('error', (error) => {
      crash = error;
    });
    worker.on('message', (message: FromReplica) => {
      if (message.type === 'result' || message.type === 'error') this.#told.open();
      if (message.type === 'end') this.#printed.open();
      else listener.message(replica, message);
    });
    worker.on('exit', (code) => {
      for (const latch of [this.#told, this.#printed, this.#exited]) latch.open();
      listener.exit(replica, code, crash);
    });
    const streams = [worker.stdout, worker.stderr];
    for (const stream of streams) stream.on('data', () => this.#chunks++);
    void Promise.all(streams.map((stream) => finished(stream))).then(() => this.#shown.open());
  }

  tell(message: ToReplica, what: string): void {
    post(this.#worker, message, what);
  }

  async end(graceMillis: number): Promise<void> {
    const hasEnded =
      (await this.#told.opens(graceMillis)) &&
      (await this.#opensWhilePrinting(this.#printed)) &&
      (await this.#exited.opens(graceMillis));
    if (!hasEnded) await this.#worker.terminate();
    await this.#opensWhilePrinting(this.#shown);
  }

  /**
   * Waits until the latch opens or no output has arrived for two seconds; returns whether it
   * opened.
   */
  async #opensWhilePrinting(latch: Latch): Promise<boolean> {
    for (let silent = 0, seen = this.#chunks; silent < silentLooks; seen = this.#chunks) {
      if (await latch.opens(lookMillis)) return true;
      silent = this.#chunks === seen ? silent + 1 : 0;
    }
    return false;
  }
}

// 20 polls of 100 ms make two seconds without output. If the machine stalls for seconds, that
// counts as one poll only.
const silentLooks = 20;
const lookMillis = 100;

function startWorker(start: ThreadStart): Worker {
  const entry = threadEntry();
  const plugin = 'plugin' in start.home ? start.home.plugin : undefined;
  const { tsx, execArgv } = loadingOf(plugin ? [start.module, plugin.module] : [start.module]);
  try {
    return new Worker(bootstrap, {
      eval: true,
      workerData: { ...start, tsx, entry },
      ...(execArgv ? { execArgv: [...execArgv] } : {}),
      name: `coll replica ${start.firstReplica + start.replica}`,
    });
  } catch (cause) {
    if (!(cause instanceof DOMException)) throw cause;
    const isArgument = !plugin || isCloneable(plugin.options);
    throw notCloneable(isArgument ? 'an argument of a replica' : `an option of plug-in "${plugin.name}"`, cause);
  }
}

/** @throws CollError if the file does not exist, because a bundler has omitted it */
function threadEntry(): string {
  const here = fileURLToPath(import.meta.url);
  const file = path.join(path.dirname(here), `replica-thread${path.extname(here) === '.ts' ? '.ts' : '.js'}`);
  if (existsSync(file)) return pathToFileURL(file).href;
  const cure =
    "add an entry replica-thread to the bundle that imports '@coll/strategy/replica-thread' and the plug-ins in use";
  throw new CollError('ERR_COLL_MODULE', `${file} is missing, the entry module of every replica's thread: ${cure}`);
}

function isCloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

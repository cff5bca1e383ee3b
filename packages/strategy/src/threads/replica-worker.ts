import { existsSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { CollError } from '@coll/core';
import { Latch } from './latch.js';
import type { Loading } from './module-loading.js';
import {
  type FromReplica,
  notCloneable,
  post,
  type ReplicaMessage,
  type RunMessage,
  type ThreadStart,
  type ToReplica,
} from './thread-messages.js';

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

/** Receives the events of a replica's thread. */
export interface ReplicaListener {
  message(replica: number, message: ReplicaMessage): void;
  /** Called when the thread has exited; `error` is the uncaught error, if any. */
  exit(replica: number, code: number, error: unknown): void;
}

/** The worker thread of one replica. It keeps the process alive only between `run` and `rest`. */
export class ReplicaWorker {
  readonly #worker: Worker;
  /** Carries all messages to and from the thread, because `parentPort` belongs to the user's module. */
  readonly #port: MessagePort;
  /** Opens when the result or error of the latest run has arrived. */
  #told = new Latch();
  /** Opens when all output of the thread has arrived. */
  readonly #printed = new Latch();
  readonly #exited = new Latch();
  /** Opens when this process has printed all output of the thread. */
  readonly #shown = new Latch();
  /** Number of output chunks and bytes that have arrived. */
  #chunks = 0;
  #bytes = 0;
  /** Number of bytes that the thread had printed when `rest` was called before. */
  #printedBefore = 0;
  #whenPrinted = () => {};

  /** @throws RuntimeError for options of the plug-in that cannot be posted */
  constructor(start: ThreadStart, loading: Loading, listener: ReplicaListener) {
    const { replica } = start;
    const { port1: port, port2 } = new MessageChannel();
    const worker = startWorker(start, port2, loading);
    this.#worker = worker;
    this.#port = port;
    this.#told.open();
    let crash: unknown;
    worker.on('error', (error) => {
      crash = error;
    });
    const hear = (message: FromReplica) => {
      if (message.type === 'result' || message.type === 'error') this.#told.open();
      if (message.type === 'end') this.#printed.open();
      else listener.message(replica, message);
    };
    port.on('message', hear);
    worker.on('exit', (code) => {
      // The thread's last messages may still be in the port's queue.
      for (let last = receiveMessageOnPort(port); last; last = receiveMessageOnPort(port)) hear(last.message);
      for (const latch of [this.#told, this.#printed, this.#exited]) latch.open();
      listener.exit(replica, code, crash);
    });
    for (const stream of this.#streams) {
      stream.on('data', (chunk: Buffer) => {
        this.#chunks += 1;
        this.#bytes += chunk.length;
        this.#whenPrinted();
      });
    }
    void Promise.all(this.#streams.map((stream) => finished(stream))).then(() => this.#shown.open());
  }

  /** Asks the thread to call a function. @throws RuntimeError for arguments that cannot be posted */
  run(message: RunMessage, moved: readonly ArrayBuffer[]): void {
    this.#told = new Latch();
    this.#keepAlive(true);
    this.tell(message, 'an argument of a replica', moved);
  }

  /** @throws RuntimeError for a message that cannot be posted */
  tell(message: ToReplica, what: string, moved?: readonly ArrayBuffer[]): void {
    post(this.#port, message, what, moved);
  }

  /**
   * Waits until this process has printed all `bytes` that the thread has printed since its start,
   * or no output has arrived for two seconds.
   */
  async rest(bytes: number): Promise<void> {
    if (this.#printedBefore < bytes) {
      this.#printedBefore = bytes;
      const arrived = new Latch();
      this.#whenPrinted = () => {
        if (this.#bytes >= bytes) arrived.open();
      };
      this.#whenPrinted();
      await this.#opensWhilePrinting(arrived);
      const flushed = new Latch();
      void Promise.all([process.stdout, process.stderr].map(flush)).then(flushed.open);
      await this.#opensWhilePrinting(flushed);
    }
    this.#keepAlive(false);
  }

  /** Waits until the thread has exited, but terminates it after `graceMillis` milliseconds. */
  async end(graceMillis: number): Promise<void> {
    this.#keepAlive(true);
    this.tell({ type: 'close' }, 'the end');
    const hasEnded =
      (await this.#told.opens(graceMillis)) &&
      (await this.#opensWhilePrinting(this.#printed)) &&
      (await this.#exited.opens(graceMillis));
    if (!hasEnded) await this.#worker.terminate();
    await this.#opensWhilePrinting(this.#shown);
  }

  /** Sets whether the thread keeps the process alive. */
  #keepAlive(isBusy: boolean): void {
    for (const handle of [this.#worker, this.#port]) {
      if (isBusy) handle.ref();
      else handle.unref();
    }
  }

  get #streams() {
    return [this.#worker.stdout, this.#worker.stderr];
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

/** Waits until a stream has passed on everything, which takes a while if it is a pipe that is full. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}

function startWorker(start: ThreadStart, port: MessagePort, { tsx, execArgv }: Loading): Worker {
  const entry = threadEntry();
  try {
    return new Worker(bootstrap, {
      eval: true,
      workerData: { ...start, port, tsx, entry },
      transferList: [port],
      ...(execArgv ? { execArgv: [...execArgv] } : {}),
      name: `coll replica ${start.firstReplica + start.replica}`,
    });
  } catch (cause) {
    if (!(cause instanceof DOMException) || !('plugin' in start.home)) throw cause;
    throw notCloneable(`an option of plug-in "${start.home.plugin.name}"`, cause);
  }
}

/** @throws CollError if the file does not exist, because a bundler has omitted it */
function threadEntry(): string {
  const here = fileURLToPath(import.meta.url);
  const name = `replica-thread${path.extname(here) === '.ts' ? '.ts' : '.js'}`;
  const file = path.join(path.dirname(here), name);
  // Built packages and bundles have one folder; among the sources, the entry is one folder up.
  const found = [file, path.join(path.dirname(here), '..', name)].find((each) => existsSync(each));
  if (found !== undefined) return pathToFileURL(found).href;
  const cure =
    "add an entry replica-thread to the bundle that imports '@coll/strategy/replica-thread' and the plug-ins in use";
  throw new CollError('ERR_COLL_MODULE', `${file} is missing, the entry module of every replica's thread: ${cure}`);
}

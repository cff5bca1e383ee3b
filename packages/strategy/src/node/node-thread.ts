import { existsSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { CollError } from '@coll/core';
import type { HostThread, ThreadOptions } from '@coll/core/internal';
import type { Loading } from './module-loading.js';
import { replicaRole } from './own-thread.js';

// This text must work both as a script and, under --input-type=module, as a module. It registers
// tsx before it imports the entry.
const bootstrap = `
import('node:worker_threads').then(async ({ default: threads }) => {
  const { tsx, entry, problem } = threads.workerData;
  if (tsx?.isCommonJs) (await import(tsx.cjs)).register();
  if (tsx) (await import(tsx.esm)).register();
  if (tsx?.isCommonJs) (await import('node:module')).createRequire(entry)((await import('node:url')).fileURLToPath(entry));
  else await import(entry);
  // The code of a replica's thread takes the data.
  if (problem && threads.workerData) throw new Error(problem);
});
`;

/** A worker thread of Node.js. Its output arrives here, because this thread passes it on. */
export class NodeThread implements HostThread {
  readonly printed = { chunks: 0, bytes: 0 };
  readonly shown: Promise<unknown>;
  readonly #worker: Worker;
  /** Carries all messages to and from the thread, because `parentPort` belongs to the user's module. */
  readonly #port: MessagePort;

  /** @param ownEntry the first module of the thread. Default: the replica's module, of a bundle */
  constructor({ data, name, loading, listener }: ThreadOptions<Loading>, ownEntry: string | undefined) {
    const { module, tsx, execArgv } = loading;
    const entry = ownEntry ?? module;
    const problem = ownEntry === undefined ? missingIn(module) : undefined;
    const { port1, port2: port } = new MessageChannel();
    this.#port = port1;
    this.#worker = new Worker(bootstrap, {
      eval: true,
      workerData: { ...data, role: replicaRole, port, tsx, entry, problem },
      transferList: [port],
      ...(execArgv ? { execArgv: [...execArgv] } : {}),
      name,
    });
    let crash: unknown;
    this.#worker.on('error', (error) => {
      crash = problem !== undefined && error.message === problem ? new CollError('ERR_COLL_MODULE', problem) : error;
    });
    const hear = (message: unknown) => listener.message(message as never);
    port1.on('message', hear);
    this.#worker.on('exit', (code) => {
      // The thread's last messages may still be in the port's queue.
      for (let last = receiveMessageOnPort(port1); last; last = receiveMessageOnPort(port1)) hear(last.message);
      listener.exit(code, crash);
    });
    const streams = [this.#worker.stdout, this.#worker.stderr];
    for (const stream of streams) {
      stream.on('data', (chunk: Buffer) => {
        this.printed.chunks += 1;
        this.printed.bytes += chunk.length;
        listener.print();
      });
    }
    this.shown = Promise.all(streams.map((stream) => finished(stream)));
  }

  postMessage(message: unknown, moved?: readonly ArrayBuffer[]): void {
    this.#port.postMessage(message, moved);
  }

  keepAlive(isBusy: boolean): void {
    for (const handle of [this.#worker, this.#port]) {
      if (isBusy) handle.ref();
      else handle.unref();
    }
  }

  terminate(): Promise<unknown> {
    return this.#worker.terminate();
  }
}

/** The entry `replica-thread`; undefined in a bundle, where the replica's module contains its code. */
export function threadEntry(beside: string): string | undefined {
  const here = fileURLToPath(beside);
  const file = path.join(path.dirname(here), `replica-thread${path.extname(here) === '.ts' ? '.ts' : '.js'}`);
  return existsSync(file) ? pathToFileURL(file).href : undefined;
}

function missingIn(module: string): string {
  return `${module} cannot run in a thread: in a bundle, the replica's module must import '@coll/strategy/replica-thread'`;
}

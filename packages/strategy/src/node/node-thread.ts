import { existsSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { CollError } from '@coll/core';
import type { HostThread, ThreadOptions } from '@coll/core/internal';
import type { Loading } from './module-loading.js';

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

/** A worker thread of Node.js. Its output arrives here, because this thread passes it on. */
export class NodeThread implements HostThread {
  readonly printed = { chunks: 0, bytes: 0 };
  readonly shown: Promise<unknown>;
  readonly #worker: Worker;
  /** Carries all messages to and from the thread, because `parentPort` belongs to the user's module. */
  readonly #port: MessagePort;

  constructor({ data, name, loading: { tsx, execArgv }, listener }: ThreadOptions<Loading>, beside: string) {
    const { port1, port2: port } = new MessageChannel();
    this.#port = port1;
    this.#worker = new Worker(bootstrap, {
      eval: true,
      workerData: { ...data, port, tsx, entry: threadEntry(beside) },
      transferList: [port],
      ...(execArgv ? { execArgv: [...execArgv] } : {}),
      name,
    });
    let crash: unknown;
    this.#worker.on('error', (error) => {
      crash = error;
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

/** @throws CollError if the file does not exist, because a bundler has omitted it */
function threadEntry(beside: string): string {
  const here = fileURLToPath(beside);
  const file = path.join(path.dirname(here), `replica-thread${path.extname(here) === '.ts' ? '.ts' : '.js'}`);
  if (existsSync(file)) return pathToFileURL(file).href;
  const advice =
    "add an entry replica-thread to the bundle that imports '@coll/strategy/replica-thread' and the plug-ins in use";
  throw new CollError('ERR_COLL_MODULE', `${file} is missing, the entry module of every replica's thread: ${advice}`);
}

import { CollError } from '@coll/core';
import { type HostThread, log, messageOf, type ThreadListener, type ThreadOptions } from '@coll/core/internal';
import type { Loading } from '../node/module-loading.js';
import { own, type Ready, start } from './messages.js';
import { type WebPort, type WebWorker, web } from './web.js';

// A worker may have to load its modules over a slow connection. One that has not begun after the last time never will.
const startWarningMillis = 15_000;
const longestStartMillis = 120_000;

// The last messages of a worker may arrive after its end has been noticed.
const lastMessagesMillis = 50;

/** A Web Worker that runs the replicas of a strategy. Its console is that of the page. */
export class PageThread implements HostThread {
  readonly printed = { chunks: 0, bytes: 0 };
  readonly shown: Promise<void>;
  readonly #module: string;
  readonly #listener: ThreadListener;
  readonly #worker: WebWorker;
  readonly #port: WebPort;
  #starting: ReturnType<typeof setTimeout>;
  #show: () => void = () => {};
  #hasBegun = false;
  #hasEnded = false;

  /** @throws DOMException for data that cannot be posted; CollError for a module of another origin */
  constructor({ data, name, loading, listener }: ThreadOptions<Loading>) {
    structuredClone(data);
    this.#module = loading.module;
    this.#listener = listener;
    this.shown = new Promise((resolve) => {
      this.#show = resolve;
    });
    const { port1, port2 } = new web.MessageChannel();
    this.#port = port1;
    port1.addEventListener('message', ({ data: message }) => {
      if (own(message, 'ended')) this.#end(0);
      else if (!this.#hasEnded) listener.message(message as never);
    });
    port1.start();
    this.#worker = workerOf(loading.module, name);
    this.#worker.addEventListener('message', ({ data: message }) => {
      const begun = own(message, 'ready');
      if (!begun || this.#hasBegun) return;
      this.#begin(begun);
      this.#worker.postMessage(start(data, port2), [port2]);
    });
    // Once it has begun, a worker reports its errors itself.
    this.#worker.addEventListener('error', (event) => {
      if (!this.#hasBegun) this.#fail(event.message ?? 'it was not found, or does not parse');
    });
    this.#starting = setTimeout(() => this.#warnOfStart(), startWarningMillis);
  }

  postMessage(message: unknown, moved: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, moved);
  }

  /** Nothing keeps a page open. */
  keepAlive(): void {}

  async terminate(): Promise<void> {
    this.#worker.terminate();
    this.#end(1);
  }

  #begin({ lock }: Ready): void {
    this.#hasBegun = true;
    clearTimeout(this.#starting);
    void web.navigator.locks.request(lock, () => setTimeout(() => this.#end(1), lastMessagesMillis));
  }

  #warnOfStart(): void {
    const advice = "the module of a replica must import '@coll/strategy/replica-thread', once for all its imports";
    const text = (seconds: number) => `has not begun after ${seconds} seconds`;
    log('warn', `${this.#module} ${text(startWarningMillis / 1000)} in a worker: it still loads, or ${advice}`);
    const late = () => this.#fail(`it ${text(longestStartMillis / 1000)}; ${advice}`);
    this.#starting = setTimeout(late, longestStartMillis - startWarningMillis);
  }

  #fail(problem: string): void {
    this.#worker.terminate();
    this.#end(1, new CollError('ERR_COLL_MODULE', `${this.#module} cannot be loaded in a worker: ${problem}`));
  }

  #end(code: number, error?: CollError): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#starting);
    this.#port.close();
    this.#listener.exit(code, error);
    this.#show();
  }
}

function workerOf(module: string, name: string): WebWorker {
  try {
    return new web.Worker(module, { type: 'module', name });
  } catch (cause) {
    const advice = 'a worker must have the origin of its page, and its content security policy must allow it';
    throw new CollError('ERR_COLL_MODULE', `${module} cannot be loaded in a worker: ${messageOf(cause)}; ${advice}`, {
      cause,
    });
  }
}

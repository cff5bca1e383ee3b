import type { HostThread, ThreadListener } from '@coll/core/internal';
import type { StrategyFigures } from '../choice/strategy-log.js';
import { host } from '../host.js';
import type { Loading } from '../node/module-loading.js';
import { Latch } from './latch.js';
import {
  type FromReplica,
  notCloneable,
  post,
  type ReplicaMessage,
  type RunMessage,
  type ThreadStart,
  type ToReplica,
} from './thread-messages.js';

/** Receives the events of a replica's thread. */
export interface ReplicaListener {
  message(replica: number, message: ReplicaMessage): void;
  /** Called when the thread has exited; `error` is the uncaught error, if any. */
  exit(replica: number, code: number, error: unknown): void;
}

/** The worker thread of one replica. It keeps the process alive only between `run` and `rest`. */
export class ReplicaWorker {
  /** What the replica has done; undefined before its thread has ended, and if it failed. */
  figures: StrategyFigures | undefined;
  readonly #thread: HostThread;
  /** Opens when the result or error of the latest run has arrived. */
  #reported = new Latch();
  /** Opens when all output of the thread has arrived. */
  readonly #printed = new Latch();
  readonly #exited = new Latch();
  /** Number of bytes that the thread had printed when `rest` was called before. */
  #printedBefore = 0;
  /** Opens when this program has printed all output of the thread. */
  readonly #shown = new Latch();
  #whenPrinted = () => {};

  /** @throws RuntimeError for options of the plug-in that cannot be posted */
  constructor(start: ThreadStart, loading: Loading, listener: ReplicaListener) {
    const { replica } = start;
    this.#reported.open();
    this.#thread = startThread(start, loading, {
      message: (message: FromReplica) => {
        if (message.type === 'result' || message.type === 'error') this.#reported.open();
        if (message.type === 'end') {
          this.figures = message.figures;
          this.#printed.open();
        } else listener.message(replica, message);
      },
      print: () => this.#whenPrinted(),
      exit: (code, error) => {
        for (const latch of [this.#reported, this.#printed, this.#exited]) latch.open();
        listener.exit(replica, code, error);
      },
    });
    void this.#thread.shown.then(this.#shown.open);
  }

  /** Asks the thread to call a function. @throws RuntimeError for arguments that cannot be posted */
  run(message: RunMessage, moved: readonly ArrayBuffer[]): void {
    this.#reported = new Latch();
    this.#thread.keepAlive(true);
    this.tell(message, 'an argument of a replica', moved);
  }

  /** @throws RuntimeError for a message that cannot be posted */
  tell(message: ToReplica, what: string, moved?: readonly ArrayBuffer[]): void {
    post(this.#thread, message, what, moved);
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
        if (this.#thread.printed.bytes >= bytes) arrived.open();
      };
      this.#whenPrinted();
      await this.#opensWhilePrinting(arrived);
      const flushed = new Latch();
      void host.flushOutput().then(flushed.open);
      await this.#opensWhilePrinting(flushed);
    }
    this.#thread.keepAlive(false);
  }

  /** Waits until the thread has exited, but terminates it after `graceMillis` milliseconds. */
  async end(graceMillis: number): Promise<void> {
    this.#thread.keepAlive(true);
    this.tell({ type: 'close' }, 'the end');
    const hasEnded =
      (await this.#reported.opens(graceMillis)) &&
      (await this.#opensWhilePrinting(this.#printed)) &&
      (await this.#exited.opens(graceMillis));
    if (!hasEnded) await this.#thread.terminate();
    await this.#opensWhilePrinting(this.#shown);
  }

  /**
   * Waits until the latch opens or no output has arrived for two seconds; returns whether it
   * opened.
   */
  async #opensWhilePrinting(latch: Latch): Promise<boolean> {
    const { printed } = this.#thread;
    for (let silent = 0, seen = printed.chunks; silent < silentLooks; seen = printed.chunks) {
      if (await latch.opens(lookMillis)) return true;
      silent = printed.chunks === seen ? silent + 1 : 0;
    }
    return false;
  }
}

// 20 polls of 100 ms make two seconds without output. If the machine stalls for seconds, that
// counts as one poll only.
const silentLooks = 20;
const lookMillis = 100;

function startThread(start: ThreadStart, loading: Loading, listener: ThreadListener): HostThread {
  const name = `coll replica ${start.firstReplica + start.replica}`;
  try {
    return host.startThread({ data: start, name, loading, listener });
  } catch (cause) {
    if (!(cause instanceof DOMException) || !('plugin' in start.setup)) throw cause;
    throw notCloneable(`an option of plug-in "${start.setup.plugin.name}"`, cause);
  }
}

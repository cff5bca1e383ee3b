import { AbortedError, DeadlineExceededError, RuntimeError } from '@coll/core';
import { afterSeconds } from '@coll/core/internal';
import type { WaitOptions } from './store.js';

/**
 * The key to wait for, and the problem to report after a timeout, as in `get: "card" had no value`.
 */
export interface Awaited {
  readonly operation: string;
  readonly key: string;
  readonly problem: string;
}

/** Waits for a store's answers until a timeout, an abort signal or `close` ends the wait. */
export class Waits {
  readonly #ends = new Set<(error: Error) => void>();
  #isClosed = false;

  /** @throws RuntimeError if `close` was called */
  requireOpen(operation: string): void {
    if (this.#isClosed) throw closed(operation);
  }

  /**
   * Waits for the promise that `start` returns, until the timeout has passed or the signal in the
   * options aborts. The signal passed to `start` aborts when the wait is over.
   * @throws DeadlineExceededError; AbortedError; RuntimeError if the store is closed
   */
  async within<Result>(
    { operation, key, problem }: Awaited,
    { timeoutSeconds, signal }: WaitOptions,
    start: (over: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const over = new AbortController();
    let end: (error: Error) => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = reject;
    });
    const abort = () => {
      const message = `${operation}: waiting for "${key}" was aborted`;
      end(new AbortedError('ERR_COLL_ABORTED', message, { operation, cause: signal?.reason }));
    };
    this.#ends.add(end);
    signal?.addEventListener('abort', abort);
    const endTimer = afterSeconds(timeoutSeconds, () => {
      const message = `${operation}: "${key}" ${problem} after ${timeoutSeconds} seconds`;
      end(new DeadlineExceededError('ERR_COLL_DEADLINE', message, { operation }));
    });
    try {
      if (this.#isClosed) end(closed(operation));
      else if (signal?.aborted) abort();
      const found = start(over.signal);
      // Later results and failures are ignored.
      found.catch(() => {});
      return await Promise.race([ended, found]);
    } finally {
      over.abort();
      endTimer();
      signal?.removeEventListener('abort', abort);
      this.#ends.delete(end);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const end of this.#ends) end(closed('get'));
  }
}

function closed(operation: string): RuntimeError {
  return new RuntimeError('ERR_COLL_CLOSED', `${operation}: this store was closed`, { operation });
}

// Fast at first, for members that arrive together; slower later, to spare the server.
const firstMillis = 2;
const longestMillis = 100;

/** Calls `ask` at increasing intervals until it returns an answer or `over` aborts. */
export async function poll<Result>(ask: () => Promise<Result | undefined>, over: AbortSignal): Promise<Result> {
  for (let millis = firstMillis; ; millis = Math.min(millis * 2, longestMillis)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, millis);
      function done() {
        clearTimeout(timer);
        over.removeEventListener('abort', done);
        resolve();
      }
      over.addEventListener('abort', done);
    });
    over.throwIfAborted();
  }
}

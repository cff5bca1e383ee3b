import { setMaxListeners } from 'node:events';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { CheckedStore } from './checked-store.js';
import { sameBytes } from './store.js';
import { poll } from './waiting.js';

/** How long a store's server may be unreachable. */
export interface OutageOptions {
  /**
   * Seconds for which calls are retried while the server does not answer, such as during a restart;
   * 0 means a single attempt. `set`, `add` and `delete` are retried only if the server has
   * certainly not executed them. Before a retry, `compareSet` checks whether the server has already
   * executed the call. Default: 10.
   */
  readonly outageSeconds?: number;
}

/** The error if a server does not answer a call. */
export class NoAnswer extends Error {
  /** Whether the server certainly did not execute the call. */
  readonly isUnsent: boolean;

  constructor(why: string, isUnsent: boolean, cause?: unknown) {
    super(why, { cause });
    this.isUnsent = isUnsent;
  }
}

/** Returns the value of `outageSeconds`, or its default. @throws ValueError if it is invalid */
export function requireOutage({ outageSeconds = 10 }: OutageOptions): number {
  if (Number.isFinite(outageSeconds) && outageSeconds >= 0) return outageSeconds;
  throw new ValueError('ERR_COLL_VALUE', `outageSeconds must be a number, 0 or more, got ${quote(outageSeconds)}`);
}

/**
 * A store in a server that may be unreachable for a while. Calls are retried until the server is
 * back, but executed at most once.
 */
export abstract class ServerStore extends CheckedStore {
  readonly #outageSeconds: number;
  readonly #closed = new AbortController();

  protected constructor(options: OutageOptions) {
    super();
    this.#outageSeconds = requireOutage(options);
    // There is one listener per retried call, and Node.js warns of more than ten.
    setMaxListeners(0, this.#closed.signal);
  }

  /** Writes a value with one request. @throws NoAnswer if the server does not answer */
  protected abstract put(key: string, value: Uint8Array): Promise<void>;
  /**
   * Reads a value with one request; undefined if there is none.
   * @throws NoAnswer if the server does not answer
   */
  protected abstract peek(key: string): Promise<Uint8Array | undefined>;
  /** Adds to a counter with one request. @throws NoAnswer if the server does not answer */
  protected abstract increase(key: string, amount: number): Promise<number>;
  /**
   * Writes `desired` with one request if the current value is `expected`. Returns whether it wrote.
   * @throws NoAnswer if the server does not answer
   */
  protected abstract swap(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean>;
  /** Deletes a key with one request. @throws NoAnswer if the server does not answer */
  protected abstract drop(key: string): Promise<boolean>;

  protected write(key: string, value: Uint8Array): Promise<void> {
    return this.#repeat(() => this.put(key, value), isUnsent);
  }

  protected read(key: string, over: AbortSignal): Promise<Uint8Array> {
    return poll(() => this.#repeat(() => this.peek(key), isUnanswered, over), over);
  }

  protected raise(key: string, amount: number): Promise<number> {
    return this.#repeat(() => this.increase(key, amount), isUnsent);
  }

  protected exchange(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    let isUnsure = false;
    return this.#repeat(async () => {
      if (isUnsure) {
        const present = await this.peek(key);
        if (sameBytes(present, desired)) return true;
        if (!sameBytes(present, expected)) return false;
      }
      try {
        return await this.swap(key, expected, desired);
      } catch (error) {
        isUnsure ||= !isUnsent(error);
        throw error;
      }
    }, isUnanswered);
  }

  protected erase(key: string): Promise<boolean> {
    return this.#repeat(() => this.drop(key), isUnsent);
  }

  /** Ends all calls that are being retried. */
  protected override async release(): Promise<void> {
    this.#closed.abort();
  }

  async #repeat<Result>(
    call: () => Promise<Result>,
    mayRepeat: (error: unknown) => boolean,
    over: AbortSignal = this.#closed.signal,
  ): Promise<Result> {
    const until = performance.now() + this.#outageSeconds * 1000;
    const { result } = await poll(async () => {
      try {
        return { result: await call() };
      } catch (error) {
        if (!mayRepeat(error)) throw error;
        if (performance.now() < until) return undefined;
        const message = `${(error as Error).message}, tried for ${this.#outageSeconds} seconds (outageSeconds)`;
        throw new NoAnswer(message, isUnsent(error), error);
      }
    }, over);
    return result;
  }
}

function isUnanswered(error: unknown): boolean {
  return error instanceof NoAnswer;
}

function isUnsent(error: unknown): boolean {
  return error instanceof NoAnswer && error.isUnsent;
}

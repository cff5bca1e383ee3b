import { setMaxListeners } from 'node:events';
import { CollError, UnavailableError } from '@coll/core';
import { requireAmount, requireKey, requireValue, requireWait, type Store, type WaitOptions } from './store.js';
import { Waits } from './waiting.js';

/**
 * Base class of all stores: validates arguments before any request, and applies timeouts and abort
 * signals to waits.
 */
export abstract class CheckedStore implements Store {
  readonly #waits = new Waits();

  async set(key: string, value: Uint8Array): Promise<void> {
    this.#check('set', key, value);
    await this.#answered('set', this.write(key, value));
  }

  async get(key: string, options: WaitOptions = {}): Promise<Uint8Array> {
    this.#check('get', key);
    requireWait(options);
    const awaited = { operation: 'get', key, problem: 'had no value' };
    return this.#waits.within(awaited, options, (over) => this.#answered('get', this.read(key, over)));
  }

  async getAll(keys: readonly string[], options: WaitOptions = {}): Promise<readonly Uint8Array[]> {
    const [key] = keys;
    if (key === undefined) return [];
    for (const each of keys) this.#check('get', each);
    requireWait(options);
    const awaited = { operation: 'get', key, problem: `or one of ${keys.length - 1} other keys had no value` };
    return this.#waits.within(awaited, options, (over) => this.#answered('get', this.readAll(keys, over)));
  }

  async add(key: string, amount: number): Promise<number> {
    this.#check('add', key);
    requireAmount(amount);
    return this.#answered('add', this.raise(key, amount));
  }

  async compareSet(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    this.#check('compare-set', key, desired);
    if (expected !== undefined) requireValue(expected, 'compare-set');
    return this.#answered('compare-set', this.exchange(key, expected, desired));
  }

  async delete(key: string): Promise<boolean> {
    this.#check('delete', key);
    return this.#answered('delete', this.erase(key));
  }

  async close(): Promise<void> {
    this.#waits.close();
    await this.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Writes a validated value, overwriting any previous one. */
  protected abstract write(key: string, value: Uint8Array): Promise<void>;

  /**
   * Waits until the key has a value, and returns a copy of the value. The wait ends early if the
   * signal `over` aborts.
   */
  protected abstract read(key: string, over: AbortSignal): Promise<Uint8Array>;

  /**
   * Like `read` for several keys. Default: reads each of them by itself.
   */
  protected readAll(keys: readonly string[], over: AbortSignal): Promise<readonly Uint8Array[]> {
    // Each key has a listener, which is not a leak.
    setMaxListeners(0, over);
    return Promise.all(keys.map((key) => this.read(key, over)));
  }

  /** Adds to a counter, which begins at 0, and returns the new value. */
  protected abstract raise(key: string, amount: number): Promise<number>;

  /**
   * Writes `desired` if the current value is `expected`, or if there is no value and `expected` is
   * undefined. Returns whether it wrote.
   */
  protected abstract exchange(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean>;

  /** Deletes a key. Returns whether it existed. */
  protected abstract erase(key: string): Promise<boolean>;

  /**
   * If an error means that the store has refused a call, returns the reason; otherwise undefined.
   * Default: always undefined.
   */
  protected refusal(_: unknown): string | undefined {
    return undefined;
  }

  /** Releases the store's resources. Idempotent. Default: does nothing. */
  protected async release(): Promise<void> {}

  #check(operation: string, key: string, value?: Uint8Array): void {
    this.#waits.requireOpen(operation);
    requireKey(key, operation);
    if (value !== undefined) requireValue(value, operation);
  }

  /**
   * Awaits a store's answer. Converts errors of the system or of a client library to CollErrors.
   */
  async #answered<Answer>(operation: string, answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (cause) {
      // Closing the store makes pending requests fail with various errors; callers get the one of a closed store.
      this.#waits.requireOpen(operation);
      if (cause instanceof CollError) throw cause;
      const refusal = this.refusal(cause);
      if (refusal !== undefined)
        throw new CollError('ERR_COLL_STORE', `${operation}: ${refusal}`, { operation, cause });
      const message = `${operation}: the store cannot be reached: ${(cause as Error).message}`;
      throw new UnavailableError('ERR_COLL_STORE', message, { operation, cause });
    }
  }
}

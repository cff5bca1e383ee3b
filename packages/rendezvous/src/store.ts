import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote, requireSignal, requireTimeout } from '@coll/core/internal';

/** Timeout and signal of a wait, both optional. */
export interface WaitOptions {
  /** Seconds to wait before `DeadlineExceededError`. Undefined, null and ≤ 0 mean no limit. */
  readonly timeoutSeconds?: number | null | undefined;
  /** Aborts the wait with `AbortedError`. */
  readonly signal?: AbortSignal | undefined;
}

export const waitOptions = knownOptions<WaitOptions>('options of a wait', { timeoutSeconds: true, signal: true });

/**
 * A small table shared by all processes of a job, with keys of up to 512 bytes and values of up to
 * 1 MiB. Every method is atomic. Each throws ValueError for larger keys and values, RuntimeError
 * once the store is closed, and UnavailableError if the table cannot be reached.
 */
export interface Store extends AsyncDisposable {
  /** Writes a value, overwriting any previous one. */
  set(key: string, value: Uint8Array): Promise<void>;
  /**
   * Waits until the key has a value, and returns it.
   * @throws DeadlineExceededError after `timeoutSeconds`, AbortedError if `signal` aborts
   */
  get(key: string, options?: WaitOptions): Promise<Uint8Array>;
  /**
   * Waits until all keys have values, and returns them in the order of the keys. One request for
   * stores that can. Callers use `get` if a store lacks this method.
   * @throws DeadlineExceededError after `timeoutSeconds`, AbortedError if `signal` aborts
   */
  getAll?(keys: readonly string[], options?: WaitOptions): Promise<readonly Uint8Array[]>;
  /**
   * Adds a whole number to a counter and returns the new value. Counters begin at 0 and are stored
   * as decimal digits.
   * @throws ValueError unless `amount` is a whole number and the value is a counter, or if the sum
   * is not a safe integer
   */
  add(key: string, amount: number): Promise<number>;
  /**
   * Writes `desired` if the current value is `expected`, or if there is no value and `expected` is
   * undefined. Returns whether it wrote.
   */
  compareSet(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean>;
  /**
   * Lets the store write a value if it loses this process before `close`, unless the key has a value
   * by then. `undefined` takes this back. Stores that do not detect the loss of a process lack this
   * method.
   */
  setWhenLost?(key: string, value: Uint8Array | undefined): Promise<void>;
  /** Deletes a key. Returns whether it existed. */
  delete(key: string): Promise<boolean>;
  /** Closes this process's access to the table. Pending waits fail with a RuntimeError. */
  close(): Promise<void>;
}

export const mostKeyBytes = 512;
export const mostValueBytes = 2 ** 20;

/** @throws ValueError unless the argument is a store */
export function requireStore(store: unknown): void {
  const { get, compareSet } = Object(store) as Partial<Store>;
  if (typeof get === 'function' && typeof compareSet === 'function') return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `store must be a store of @coll/rendezvous, such as a TcpStore, got ${quote(store)}`,
  );
}

/** @throws ValueError unless the argument is a valid `WaitOptions` */
export function requireWait(options: WaitOptions): void {
  requireWaitFields(optionsOf(options, 'such as { timeoutSeconds: 60 }', waitOptions));
}

/**
 * Like `requireWait`, but without a check for unknown options.
 * @throws ValueError for a timeout or signal of the wrong type
 */
export function requireWaitFields({ timeoutSeconds, signal }: WaitOptions): void {
  requireSignal(signal);
  if (timeoutSeconds !== undefined) requireTimeout(timeoutSeconds);
}

/** @throws ValueError unless the key is a string of 1 to 512 bytes */
export function requireKey(key: string, operation?: string): void {
  if (typeof key === 'string' && key !== '' && Buffer.byteLength(key) <= mostKeyBytes) return;
  const message = `a key must be a string of 1 to ${mostKeyBytes} bytes, got ${quote(key)}`;
  throw new ValueError('ERR_COLL_VALUE', message, { operation });
}

/** @throws ValueError unless the value is a `Uint8Array` of at most 1 MiB */
export function requireValue(value: Uint8Array, operation?: string): void {
  if (value instanceof Uint8Array && value.length <= mostValueBytes) return;
  const text = value instanceof Uint8Array ? `${value.length} bytes` : quote(value);
  throw new ValueError('ERR_COLL_VALUE', `a value must have at most ${mostValueBytes} bytes, got ${text}`, {
    operation,
  });
}

/** @throws ValueError unless the amount is a whole number */
export function requireAmount(amount: number, operation = 'add'): void {
  if (Number.isSafeInteger(amount)) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `the amount to add to a counter must be a whole number, got ${quote(amount)}`,
    { operation },
  );
}

/**
 * The value of a counter after adding `amount`.
 * @throws ValueError if the current value is not a counter, or the sum is not a safe integer
 */
export function raised(key: string, value: Uint8Array | undefined, amount: number): number {
  const text = value === undefined ? '0' : Buffer.from(value).toString('latin1');
  const sum = /^-?\d{1,16}$/.test(text) ? Number(text) + amount : Number.NaN;
  if (Number.isSafeInteger(sum)) return sum;
  throw noCounter(key, amount);
}

/** The error for a value that is not a counter, or a sum that is not a safe integer. */
export function noCounter(key: string, amount: number): ValueError {
  const message = `the value of ${quote(key)} is not a counter to which ${amount} can be added`;
  return new ValueError('ERR_COLL_VALUE', message, { operation: 'add' });
}

export function sameBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && Buffer.compare(a, b) === 0);
}

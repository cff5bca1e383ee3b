import { CollError } from '@coll/core';
import { raised, sameBytes } from './store.js';

/** Size limits of a table. */
export interface TableLimits {
  /** Maximum number of keys. Default: 100 000. */
  readonly mostKeys?: number;
  /** Maximum number of bytes of all values together. Default: 64 MiB. */
  readonly mostBytes?: number;
}

/**
 * A table of values by key in the memory of one process, and the waits for values. Callers must
 * validate keys and values.
 */
export class Table {
  readonly #values = new Map<string, Uint8Array>();
  readonly #waiting = new Map<string, Set<(value: Uint8Array) => void>>();
  readonly #limits: Required<TableLimits>;
  #bytes = 0;

  constructor({ mostKeys = 100_000, mostBytes = 64 * 2 ** 20 }: TableLimits = {}) {
    this.#limits = { mostKeys, mostBytes };
  }

  peek(key: string): Uint8Array | undefined {
    return this.#values.get(key);
  }

  /** Writes a value. @throws CollError if the table is full */
  set(key: string, value: Uint8Array): void {
    const before = this.#values.get(key);
    const bytes = this.#bytes + value.length - (before?.length ?? 0);
    const keys = this.#values.size + Number(before === undefined);
    const { mostBytes, mostKeys } = this.#limits;
    if (bytes > mostBytes || keys > mostKeys) {
      const message = `the store holds at most ${mostKeys} values and ${mostBytes} bytes; there is no room for "${key}": delete values that are no longer needed`;
      throw new CollError('ERR_COLL_STORE', message, { operation: 'set' });
    }
    this.#bytes = bytes;
    this.#values.set(key, value);
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    for (const tell of waiting ?? []) tell(value);
  }

  add(key: string, amount: number): number {
    const sum = raised(key, this.#values.get(key), amount);
    this.set(key, Buffer.from(String(sum)));
    return sum;
  }

  compareSet(key: string, expected: Uint8Array | undefined, desired: Uint8Array): boolean {
    if (!sameBytes(this.#values.get(key), expected)) return false;
    this.set(key, desired);
    return true;
  }

  delete(key: string): boolean {
    this.#bytes -= this.#values.get(key)?.length ?? 0;
    return this.#values.delete(key);
  }

  /**
   * Calls `tell` once, as soon as the key has a value.
   * @returns a function that prevents the call
   */
  whenThere(key: string, tell: (value: Uint8Array) => void): () => void {
    const value = this.#values.get(key);
    if (value !== undefined) {
      tell(value);
      return () => {};
    }
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(tell));
    return () => {
      waiting.delete(tell);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
  }
}

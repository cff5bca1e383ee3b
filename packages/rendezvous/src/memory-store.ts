import { knownOptions, optionsOf } from '@coll/core/internal';
import { CheckedStore } from './checked-store.js';
import { Table, type TableLimits } from './table.js';

const memoryStoreOptions = knownOptions<TableLimits>('MemoryStore', { mostKeys: true, mostBytes: true });

/**
 * A store in the memory of one process. Members use the same store object, or several store objects
 * that share one table.
 *
 * @example
 * ```ts
 * import { MemoryStore } from '@coll/rendezvous';
 *
 * const store = new MemoryStore();
 * await store.set('address', new Uint8Array([127, 0, 0, 1]));
 * console.log(await store.get('address')); // Uint8Array(4) [ 127, 0, 0, 1 ]
 * ```
 */
export class MemoryStore extends CheckedStore {
  readonly #table: Table;

  /**
   * @param shared another store whose table this store shares, or the limits of a new table
   * @throws ValueError for an unknown limit
   */
  constructor(shared: MemoryStore | TableLimits = {}) {
    super();
    this.#table =
      shared instanceof MemoryStore
        ? shared.#table
        : new Table(optionsOf(shared, '{ mostKeys: 1000 }', memoryStoreOptions));
  }

  protected async write(key: string, value: Uint8Array): Promise<void> {
    this.#table.set(key, value.slice());
  }

  protected read(key: string, over: AbortSignal): Promise<Uint8Array> {
    return new Promise((resolve) => {
      const stop = this.#table.whenThere(key, (value) => resolve(value.slice()));
      over.addEventListener('abort', stop);
    });
  }

  protected async raise(key: string, amount: number): Promise<number> {
    return this.#table.add(key, amount);
  }

  protected async exchange(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    return this.#table.compareSet(key, expected, desired.slice());
  }

  protected async erase(key: string): Promise<boolean> {
    return this.#table.delete(key);
  }
}

import { requireAmount, requireKey, requireValue, type Store, type WaitOptions } from './store.js';
import { Table, type TableLimits } from './table.js';
import { Waits } from './waiting.js';

/** A store for one process: its members share this object, or open one each on the same table. */
export class MemoryStore implements Store {
  readonly #table: Table;
  readonly #waits = new Waits();

  constructor(shared: MemoryStore | TableLimits = {}) {
    this.#table = shared instanceof MemoryStore ? shared.#table : new Table(shared);
  }

  async set(key: string, value: Uint8Array): Promise<void> {
    this.#check('set', key, value);
    this.#table.set(key, value.slice());
  }

  async get(key: string, options: WaitOptions = {}): Promise<Uint8Array> {
    this.#check('get', key);
    const value = await this.#waits.within(key, options, (over) => {
      return new Promise<Uint8Array>((resolve) => {
        over.addEventListener('abort', this.#table.whenThere(key, resolve));
      });
    });
    return value.slice();
  }

  async add(key: string, amount: number): Promise<number> {
    this.#check('add', key);
    requireAmount(amount);
    return this.#table.add(key, amount);
  }

  async compareSet(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    this.#check('compare-set', key, desired);
    return this.#table.compareSet(key, expected, desired.slice());
  }

  async delete(key: string): Promise<boolean> {
    this.#check('delete', key);
    return this.#table.delete(key);
  }

  async close(): Promise<void> {
    this.#waits.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #check(operation: string, key: string, value?: Uint8Array): void {
    this.#waits.requireOpen(operation);
    requireKey(key);
    if (value !== undefined) requireValue(value);
  }
}

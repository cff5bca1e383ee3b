import type { Store, WaitOptions } from '@coll/rendezvous';

/** A part of a store, for those who meet there beside others. Closing it closes the store. */
export class ScopedStore implements Store {
  readonly #store: Store;
  readonly #scope: string;

  constructor(store: Store, scope: string) {
    this.#store = store;
    this.#scope = scope;
  }

  set(key: string, value: Uint8Array): Promise<void> {
    return this.#store.set(this.#in(key), value);
  }

  get(key: string, options?: WaitOptions): Promise<Uint8Array> {
    return this.#store.get(this.#in(key), options);
  }

  add(key: string, amount: number): Promise<number> {
    return this.#store.add(this.#in(key), amount);
  }

  compareSet(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    return this.#store.compareSet(this.#in(key), expected, desired);
  }

  delete(key: string): Promise<boolean> {
    return this.#store.delete(this.#in(key));
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #in(key: string): string {
    return `${this.#scope}/${key}`;
  }
}

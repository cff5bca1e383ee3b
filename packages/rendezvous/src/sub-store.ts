import type { Store } from './store.js';

/**
 * Returns the part of a store whose keys begin with `name` and a slash, as a store for a separate
 * rendezvous. Closing the returned store leaves `store` open.
 *
 * @example
 * ```ts
 * import { MemoryStore, subStore } from '@coll/rendezvous';
 *
 * const store = new MemoryStore();
 * await subStore(store, 'evaluation').set('address', new Uint8Array([1]));
 * console.log(await store.get('evaluation/address')); // Uint8Array(1) [ 1 ]
 * ```
 */
export function subStore(store: Store, name: string): Store {
  const keyOf = (key: string) => `${name}/${key}`;
  return {
    set: (key, value) => store.set(keyOf(key), value),
    get: (key, options) => store.get(keyOf(key), options),
    ...(store.getAll && { getAll: (keys, options) => store.getAll?.(keys.map(keyOf), options) ?? Promise.resolve([]) }),
    add: (key, amount) => store.add(keyOf(key), amount),
    compareSet: (key, expected, desired) => store.compareSet(keyOf(key), expected, desired),
    ...(store.setWhenLost && {
      setWhenLost: (key, value) => store.setWhenLost?.(keyOf(key), value) ?? Promise.resolve(),
    }),
    delete: (key) => store.delete(keyOf(key)),
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

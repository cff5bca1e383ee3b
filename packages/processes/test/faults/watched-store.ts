import type { Store } from '@coll/rendezvous';

/** The store, which tells of each key that it has put a value to, where there was none. */
export function watchedStore(store: Store, onPut: (key: string) => void): Store {
  return {
    set: (key, value) => store.set(key, value),
    get: (key, options) => store.get(key, options),
    add: (key, amount) => store.add(key, amount),
    async compareSet(key, expected, desired) {
      const isPut = await store.compareSet(key, expected, desired);
      if (isPut) onPut(key);
      return isPut;
    },
    delete: (key) => store.delete(key),
    ...(store.setWhenLost && { setWhenLost: (key, value) => store.setWhenLost?.(key, value) ?? Promise.resolve() }),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** The step of the opening to which a key of the store belongs. */
export function stepOf(key: string): string | undefined {
  return /(?:^|\/)generation\/\d+\/(\w+)\/\d+$/.exec(key)?.[1];
}

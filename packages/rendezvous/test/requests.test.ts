import { describe, expect, it } from 'vitest';
import { type Store, StoreRendezvous, TcpStore, TcpStoreServer } from '../src/index.js';

const job = { job: 'test', jobKey: TcpStoreServer.newKey() };
const steps = ['peers', 'links'];

/** The same store, with the number of calls that were made. */
function counted(store: Store): { readonly store: Store; readonly calls: () => number } {
  let calls = 0;
  const count = <Args extends readonly unknown[], Result>(call: (...args: Args) => Result) => {
    return (...args: Args) => {
      calls++;
      return call(...args);
    };
  };
  const counting: Store = {
    set: count((key, value) => store.set(key, value)),
    get: count((key, options) => store.get(key, options)),
    getAll: count((keys, options) => store.getAll?.(keys, options) ?? Promise.resolve([])),
    add: count((key, amount) => store.add(key, amount)),
    compareSet: count((key, expected, desired) => store.compareSet(key, expected, desired)),
    delete: count((key) => store.delete(key)),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
  return { store: counting, calls: () => calls };
}

/** The calls that each of `size` members makes to its store, in a rendezvous of two steps. */
async function callsOf(size: number): Promise<readonly number[]> {
  await using server = await TcpStoreServer.listen(job);
  const { address } = server;
  const stores = await Promise.all(
    Array.from({ length: size }, async () => counted(await TcpStore.connect({ ...job, address }))),
  );
  await Promise.all(
    stores.map(async ({ store }, rank) => {
      const rendezvous = new StoreRendezvous(store, { rank, size });
      const card = Buffer.of(rank);
      for (const step of steps) {
        const cards = await rendezvous.attempt(() => rendezvous.gather(step, card));
        expect(cards.map((bytes) => bytes[0])).toEqual([...stores.keys()]);
      }
      rendezvous.end();
    }),
  );
  await Promise.all(stores.map(({ store }) => store.close()));
  return stores.map(({ calls }) => calls());
}

describe('the requests of a member to the store', () => {
  it.each([8, 16, 32, 64])('are as few for a group of %i as for any other', async (size) => {
    const most = Math.max(...(await callsOf(size)));
    // One for the error that may end it, two to enter, three per step.
    expect(most).toBeLessThanOrEqual(3 + 3 * steps.length);
  });
});

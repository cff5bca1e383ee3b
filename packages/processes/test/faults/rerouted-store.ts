import type { Store } from '@coll/rendezvous';
import type { OpenProcessGroupOptions } from '../../src/index.js';
import type { Address } from '../../src/peer-info.js';
import { decodePeer } from '../peer-record.js';

/** Tells where to connect in the place of a port of another rank. */
export type Reroute = (to: number, port: number) => Promise<number>;

/**
 * The store, with other addresses in the peers of the other members: connections to them go through a double of the network. `member`:
 * the options with which the member opens its group.
 */
export function reroutedStore(store: Store, member: OpenProcessGroupOptions, reroute: Reroute): Store {
  const { rank } = member;
  return {
    set: (key, value) => store.set(key, value),
    add: (key, amount) => store.add(key, amount),
    compareSet: (key, expected, desired) => store.compareSet(key, expected, desired),
    delete: (key) => store.delete(key),
    ...(store.setWhenLost && { setWhenLost: (key, value) => store.setWhenLost?.(key, value) ?? Promise.resolve() }),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
    async get(key, options) {
      const value = await store.get(key, options);
      const [, to] = /(?:^|\/)generation\/\d+\/peers\/(\d+)$/.exec(key) ?? [];
      if (to === undefined || Number(to) === rank) return value;
      const { info, encode } = decodePeer(value, Number(to), member);
      const near = async ({ host, port }: Address) => ({ host, port: await reroute(Number(to), port) });
      // A rank asks for one route to another at a time.
      const addresses = await Promise.all(info.addresses.map(near));
      const dataPort = info.dataPort === 0 ? 0 : await reroute(Number(to), info.dataPort);
      return encode({ ...info, addresses, dataPort });
    },
  };
}

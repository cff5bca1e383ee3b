import type { Store } from '@coll/rendezvous';

/** Tells where to connect in the place of a port of another rank. */
export type Reroute = (to: number, port: number) => Promise<number>;

/** The store, with other addresses in the peers of the other members: connections to them go through a double of the network. */
export function reroutedStore(store: Store, rank: number, reroute: Reroute): Store {
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
      const info = JSON.parse(Buffer.from(value).toString('utf8')) as PeerInfo;
      const near = async ({ host, port }: Address) => ({ host, port: await reroute(Number(to), port) });
      // A rank asks for one route to another at a time.
      const addresses = await Promise.all(info.addresses.map(near));
      const dataPort = info.dataPort === 0 ? 0 : await reroute(Number(to), info.dataPort);
      return Buffer.from(JSON.stringify({ ...info, addresses, dataPort }));
    },
  };
}

interface Address {
  readonly host: string;
  readonly port: number;
}

interface PeerInfo {
  readonly addresses: readonly Address[];
  readonly dataPort: number;
}

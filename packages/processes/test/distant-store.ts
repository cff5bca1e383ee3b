import { networkInterfaces } from 'node:os';
import type { Store } from '@coll/rendezvous';

/** How a member sees the others. */
export interface Distance {
  /** Members that it cannot connect to, as a firewall refuses it: they can connect to it. */
  readonly hidden?: readonly number[];
  /** The step of the opening that it does not get to, such as `links`. */
  readonly stuckBefore?: string;
}

/** An address of this machine that other hosts may reach; undefined where it has none. */
export const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address;

/** The store as a member sees it where each of the others is on a host of its own: their peers say so. */
export function distantStore(store: Store, rank: number, { hidden = [], stuckBefore }: Distance): Store {
  return {
    set: (key, value) => store.set(key, value),
    add: (key, amount) => store.add(key, amount),
    compareSet: (key, expected, desired) =>
      stepOf(key)?.step === stuckBefore && stuckBefore !== undefined
        ? new Promise(() => {})
        : store.compareSet(key, expected, desired),
    delete: (key) => store.delete(key),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
    async get(key, options) {
      const value = await store.get(key, options);
      const { step, member = rank } = stepOf(key) ?? {};
      if (step !== 'peers' || member === rank) return value;
      const { addresses, dataPort, ...info } = JSON.parse(Buffer.from(value).toString('utf8')) as PeerInfo;
      // Nobody listens at the first port.
      const seen = addresses.map(({ host, port }) => ({ host, port: hidden.includes(member) ? 1 : port }));
      const seenData = hidden.includes(member) ? 1 : dataPort;
      return Buffer.from(JSON.stringify({ ...info, hostName: `host-${member}`, addresses: seen, dataPort: seenData }));
    },
  };
}

interface PeerInfo {
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  readonly dataPort: number;
}

function stepOf(key: string): { readonly step: string; readonly member: number } | undefined {
  const [, step, member] = /(?:^|\/)generation\/\d+\/(\w+)\/(\d+)$/.exec(key) ?? [];
  return step === undefined ? undefined : { step, member: Number(member) };
}

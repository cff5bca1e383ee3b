import { networkInterfaces } from 'node:os';
import type { Store } from '@coll/rendezvous';
import type { OpenProcessGroupOptions } from '../src/index.js';
import { memberOf } from '../src/member-config.js';
import { decodePeer } from './peer-record.js';

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
export function distantStore(
  store: Store,
  options: OpenProcessGroupOptions,
  { hidden = [], stuckBefore }: Distance,
): Store {
  const { rank } = memberOf(options);
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
    async get(key, waiting) {
      const value = await store.get(key, waiting);
      const { step, member = rank } = stepOf(key) ?? {};
      if (step !== 'peers' || member === rank) return value;
      const { info, encode } = decodePeer(value, member as number, options);
      const { addresses, dataPort } = info;
      // Nobody listens at the first port.
      const seen = addresses.map(({ host, port }) => ({ host, port: hidden.includes(member as number) ? 1 : port }));
      const seenData = hidden.includes(member as number) ? 1 : dataPort;
      return encode({ ...info, hostName: `host-${member}`, addresses: seen, dataPort: seenData });
    },
  };
}

function stepOf(key: string): { readonly step: string; readonly member: number } | undefined {
  const [, step, member] = /(?:^|\/)generation\/\d+\/(\w+)\/(\d+)$/.exec(key) ?? [];
  return step === undefined ? undefined : { step, member: Number(member) };
}

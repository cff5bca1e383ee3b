import { MemoryStore, type Store, TcpStoreServer } from '@coll/rendezvous';
import { describe, expect, it } from 'vitest';
import { openProcessGroup } from '../src/index.js';
import { distinguishHosts, restoreHost } from './different-hosts.ts';
import { ownAddress } from './distant-store.ts';

type Change = (record: Buffer) => Uint8Array;

/** A store in the hands of somebody who has no job key, and changes what members of rank 0 get of rank 1. */
function changedStore(store: Store, step: string, change: Change): Store {
  return {
    set: (key, value) => store.set(key, value),
    add: (key, amount) => store.add(key, amount),
    compareSet: (key, expected, desired) => store.compareSet(key, expected, desired),
    delete: (key) => store.delete(key),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
    async get(key, options) {
      const value = await store.get(key, options);
      return key.endsWith(`generation/0/${step}/1`) ? change(Buffer.from(value)) : value;
    },
  };
}

const refused = {
  status: 'rejected',
  reason: {
    ...{ name: 'CollError', code: 'ERR_COLL_STORE', rank: 1, operation: 'open a group' },
    message: expect.stringContaining('somebody has altered its record in the store'),
  },
};

const replaced = (from: RegExp, to: string) => (record: Buffer) =>
  Buffer.from(record.toString('latin1').replace(from, to), 'latin1');

describe('a record of rank 1 that somebody has altered in the store', () => {
  it.each<[string, string, Change]>([
    ['a host name, so that two hosts look like one', 'peers', replaced(/"hostName":"[^"]*"/, '"hostName":"host-0"')],
    ['the flag insecure', 'peers', replaced(/"insecure":false/, '"insecure":true')],
    ['which connections are encrypted', 'peers', replaced(/"encrypt":"[^"]*"/, '"encrypt":"always"')],
    ['an address', 'peers', replaced(/"port":\d/, '"port":1')],
    ['a missing record', 'peers', () => Buffer.of()],
    ['the report about shared memory', 'links', replaced(/"refused":\{/, '"refused":{"0":"no",')],
  ])('ends the opening of both ranks with an error that names rank 1 (%s)', async (_, step, change) => {
    distinguishHosts();
    try {
      const memory = new MemoryStore();
      const jobKey = TcpStoreServer.newKey();
      const open = (rank: number) =>
        openProcessGroup({
          ...{ rank, size: 2, jobKey, host: ownAddress, timeoutSeconds: 60 },
          store: rank === 0 ? changedStore(memory, step, change) : memory,
        });
      const results = await Promise.allSettled([open(0), open(1)]);
      // In the last step, rank 1 may learn first that its connection with rank 0 has ended.
      expect(results).toMatchObject([refused, step === 'links' ? { status: 'rejected' } : refused]);
    } finally {
      restoreHost();
    }
  });
});

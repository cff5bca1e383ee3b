import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { type Store, TcpStore, TcpStoreServer } from '@coll/rendezvous';
import { expect, it } from 'vitest';
import { openProcessGroup } from '../src/index.js';

const size = 3;

it.each(['shared-memory', 'tcp'] as const)(
  'openProcessGroup of rank 0, which keeps the store, resolves once no member needs the store, over %s',
  async (transport) => {
    const job = { job: 'keeper', jobKey: TcpStoreServer.newKey() };
    const keeper = fork(
      fileURLToPath(new URL('./fixtures/keeper.ts', import.meta.url)),
      [JSON.stringify({ ...job, size, transport, timeoutSeconds: 120 })],
      { execArgv: [] },
    );
    const [address] = (await once(keeper, 'message')) as [string];
    const sum = once(keeper, 'message');
    const results = await Promise.all(
      [1, 2].map(async (rank) => {
        await using store = await TcpStore.connect({ ...job, address });
        const options = { ...job, rank, size, transport, timeoutSeconds: 120 };
        await using group = await openProcessGroup({ ...options, store: slow(store, rank * 100) });
        const value = [tensor(Float32Array.of(1))];
        await group.communicator(directAlgorithm()).run({ kind: 'all-reduce', op: 'sum' }, value, value);
        return value[0]?.data[0];
      }),
    );
    const [own] = (await sum) as [number];
    expect([own, ...results]).toEqual([size, size, size]);
  },
);

/** A store that is far away: its answers come later. */
function slow(store: Store, millis: number): Store {
  const later = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    const value = await answer;
    await setTimeout(millis);
    return value;
  };
  return {
    set: (key, value) => store.set(key, value),
    get: (key, options) => later(store.get(key, options)),
    add: (key, amount) => later(store.add(key, amount)),
    compareSet: (key, expected, desired) => later(store.compareSet(key, expected, desired)),
    delete: (key) => store.delete(key),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

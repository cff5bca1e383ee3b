import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DeadlineExceededError, UnavailableError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { EtcdStore, FileStore, joinGroup, RedisStore, type Store } from '../src/index.js';
import { EtcdDouble } from './etcd-double.js';
import { RedisDouble } from './redis-double.js';
import type { Restartable } from './server-double.js';
import { placeIn, servers, storeAt } from './stores.js';

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
// Longer than a test may take.
const timeoutSeconds = 300;
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 300));
/** Time in which a client sees that its connection has ended: before, a call may have been carried out, for all it knows. */
const untilNoticed = () => new Promise((resolve) => setTimeout(resolve, 100));

describe.each(Object.entries(servers))('%s during an outage of its server', (_, { kind, listen }) => {
  /** Stores of two members, and their server. */
  async function withStores(
    outageSeconds: number,
    test: (stores: readonly [Store, Store], server: Restartable) => Promise<void>,
  ): Promise<void> {
    const server = await listen();
    const place = placeIn(kind, server, outageSeconds);
    const stores = [await storeAt(place), await storeAt(place)] as const;
    try {
      await test(stores, server);
    } finally {
      await Promise.all(stores.map((store) => store.close()));
      await server.close();
    }
  }

  const come = (store: Store, rank: number, more: object = {}) =>
    joinGroup(store, { rank, size: 2, card: bytes(`host ${rank}`), timeoutSeconds, ...more });

  it('lets members join before and during a restart of the server that keeps its data', () =>
    withStores(60, async ([first, second], server) => {
      const waiting = come(first, 0);
      await first.get('generation/0/card/0');
      await server.stop();
      const late = come(second, 1);
      await aWhile();
      await server.start();
      const both = [bytes('host 0'), bytes('host 1')];
      expect(await Promise.all([waiting, late])).toEqual([both, both]);
    }));

  it('ends the rendezvous for all members soon after the server returns without its data', () =>
    withStores(60, async ([first, second], server) => {
      const waiting = come(first, 0);
      await first.get('generation/0/card/0');
      await server.stop();
      await server.forget();
      await server.start();
      const outcomes = await Promise.allSettled([waiting, come(second, 1)]);
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({
          reason: {
            name: UnavailableError.name,
            code: 'ERR_COLL_STORE',
            rank: 0,
            message: expect.stringMatching(/^the store lost the data of rank/),
          },
        });
    }));

  it('reports for how long it tried to reach a lost server', () =>
    withStores(0.3, async ([first], server) => {
      const waiting = come(first, 0);
      await first.get('generation/0/card/0');
      await server.stop();
      await untilNoticed();
      const calls = [waiting, first.set('a', bytes('')), first.compareSet('a', undefined, bytes(''))];
      for (const outcome of await Promise.allSettled(calls))
        expect(outcome).toMatchObject({
          reason: {
            name: UnavailableError.name,
            code: 'ERR_COLL_STORE',
            message: expect.stringMatching(
              /the store cannot be reached: .*, tried for 0\.3 seconds \(outageSeconds\)$/,
            ),
          },
        });
    }));

  it('does not report a missing member while the server is gone', () =>
    withStores(60, async ([first], server) => {
      const waiting = come(first, 0, { timeoutSeconds: 1.5 });
      await first.get('generation/0/card/0');
      await server.stop();
      await expect(waiting).rejects.toMatchObject({
        name: DeadlineExceededError.name,
        message: expect.stringMatching(
          /^rank 0 waited 1\.5 seconds for the store, which has not answered for \d+\.\d seconds/,
        ),
      });
    }));

  it('executes calls made during the outage exactly once, when the server is back', () =>
    withStores(60, async ([first], server) => {
      await first.set('count', bytes('1'));
      await server.stop();
      await untilNoticed();
      const calls = [
        first.set('set', bytes('there')),
        first.add('count', 1),
        first.compareSet('swapped', undefined, bytes('mine')),
        first.delete('nothing'),
      ];
      await aWhile();
      await server.start();
      expect(await Promise.all(calls)).toEqual([undefined, 2, true, false]);
      expect(await Promise.all(['set', 'swapped'].map((key) => first.get(key)))).toEqual([
        bytes('there'),
        bytes('mine'),
      ]);
    }));

  it('rejects calls that wait for the server when it is closed', () =>
    withStores(timeoutSeconds, async ([first], server) => {
      await server.stop();
      const calls = [first.set('a', bytes('')), first.get('a'), first.compareSet('a', undefined, bytes(''))];
      const ended = calls.map((call) =>
        expect(call).rejects.toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CLOSED' }),
      );
      await aWhile();
      await first.close();
      await Promise.all(ended);
    }));
});

describe.each<[string, () => Promise<{ double: RedisDouble | EtcdDouble; open(): Promise<Store> }>]>([
  [
    'RedisStore',
    async () => {
      const double = await RedisDouble.listen();
      return { double, open: () => RedisStore.connect({ redis: double.url, job: 'lossy' }) };
    },
  ],
  [
    'EtcdStore',
    async () => {
      const double = await EtcdDouble.listen();
      return { double, open: async () => new EtcdStore({ url: double.url, job: 'lossy' }) };
    },
  ],
])('a %s whose server executed a call but lost the answer', (_, make) => {
  it('detects its own write, and does not add twice', async () => {
    const { double, open } = await make();
    const store = await open();
    expect(await store.add('count', 1)).toBe(1);
    double.loseNextAnswer();
    expect(await store.compareSet('card', undefined, bytes('mine'))).toBe(true);
    double.loseNextAnswer();
    await expect(store.add('count', 1)).rejects.toMatchObject({ name: UnavailableError.name, code: 'ERR_COLL_STORE' });
    expect(await store.add('count', 0)).toBe(2);
    await store.close();
    await double.close();
  });
});

it('deleting the folder of a FileStore ends the rendezvous for all members', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'coll-'));
  const stores = [new FileStore({ folder }), new FileStore({ folder })] as const;
  const come = (rank: number) => joinGroup(stores[rank] as Store, { rank, size: 2, card: bytes(''), timeoutSeconds });
  const first = come(0);
  await stores[0].get('generation/0/card/0');
  await rm(folder, { recursive: true });
  for (const outcome of await Promise.allSettled([first, come(1)]))
    expect(outcome).toMatchObject({ reason: { name: UnavailableError.name, code: 'ERR_COLL_STORE' } });
  for (const store of stores) await store.remove();
});

it('EtcdStore waits for an etcd without a leader', async () => {
  const double = await EtcdDouble.listen();
  await using store = new EtcdStore({ url: double.url, job: 'election' });
  double.isLeaderless = true;
  const written = store.compareSet('card', undefined, bytes('mine'));
  const read = store.get('card');
  await aWhile();
  double.isLeaderless = false;
  expect([await written, await read]).toEqual([true, bytes('mine')]);
  double.isLeaderless = true;
  await using hasty = new EtcdStore({ url: double.url, job: 'election', outageSeconds: 0 });
  await expect(hasty.get('card')).rejects.toMatchObject({
    name: UnavailableError.name,
    message: expect.stringMatching(/cannot be reached: etcd at .* refused the request: status 503, .*no leader/),
  });
  await double.close();
});

it('a store with outageSeconds: 0 can still make its first connection', async () => {
  const double = await RedisDouble.listen();
  await using store = await RedisStore.connect({ redis: double.url, job: 'hasty', outageSeconds: 0 });
  await store.set('a', bytes('there'));
  expect(await store.get('a')).toEqual(bytes('there'));
  await store.close();
  await double.close();
});

it.each([-1, Number.NaN, Infinity, '10', null, true])('a store refuses %s as outageSeconds', async (outageSeconds) => {
  const refused = {
    name: 'ValueError',
    message: expect.stringMatching(/^outageSeconds must be a number, 0 or more, got /),
  };
  const options = { job: 'a', outageSeconds } as never;
  await expect(RedisStore.connect(Object.assign({ redis: 'redis://127.0.0.1:9' }, options))).rejects.toMatchObject(
    refused,
  );
  const make = async () => new EtcdStore(Object.assign({ url: 'http://127.0.0.1:9' }, options));
  await expect(make()).rejects.toMatchObject(refused);
});

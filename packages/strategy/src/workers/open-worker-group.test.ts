import { networkInterfaces } from 'node:os';
import { joinGroup, type Store, subStore, TcpStore, TcpStoreServer } from '@coll/rendezvous';
import { jobStore } from '@coll/rendezvous/internal';
import { afterEach, expect, it, vi } from 'vitest';
import { keepStore, openWorkerGroup } from './open-worker-group.js';

const job = { job: 'workers', jobKey: TcpStoreServer.newKey() };
const generation = 0;

/** The configuration of worker 1, if worker 0 hosts a store at the address. */
function configAt(address: string, size: number) {
  const storeAddress = { ...job, address, generation, isOfWorker: true, isHere: false };
  return { storeAddress, rank: 1, size, transport: {}, startupTimeoutSeconds: null, scope: 'main' };
}

/** Waits until a member has published its peer info. */
async function cardOf(store: Store, rank: number) {
  await subStore(store, 'main').get(`job/${job.job}/generation/${generation}/peers/${rank}`);
}

/** The warnings that were printed, without time and place. */
function messages(printed: { readonly mock: { readonly calls: unknown[][] } }) {
  return printed.mock.calls.map(([line]) => /^coll warn \S+ \[.*?\] (.*)$/.exec(String(line))?.[1]);
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it('opening the group fails at once if workers of a newer generation have joined', async () => {
  await using server = await TcpStoreServer.listen(job);
  const { address } = server;
  await using store = await TcpStore.connect({ ...job, address });
  const part = jobStore(subStore(store, 'main'), job.job);
  const card = new Uint8Array();
  const over = new AbortController();
  const newer = joinGroup(part, { rank: 0, size: 2, generation: 1, card, signal: over.signal }).catch(() => {});
  await part.get('newest');
  await expect(openWorkerGroup(configAt(address, 2))).rejects.toMatchObject({
    name: 'UnavailableError',
    code: 'ERR_COLL_STORE',
    message: expect.stringMatching(/^generation 0 has ended, because rank 0 joined generation 1/),
  });
  over.abort();
  await newer;
});

it('opening the group reports the expected address of worker 0 at the timeout', async () => {
  const config = { ...configAt('tcp://127.0.0.1:1', 2), startupTimeoutSeconds: 1 };
  const store = 'worker 0 at 127.0.0.1:1 could not be reached: connect ECONNREFUSED 127.0.0.1:1';
  await expect(openWorkerGroup(config)).rejects.toMatchObject({
    ...{ name: 'RuntimeError', code: 'ERR_COLL_DEADLINE', rank: 1, operation: 'start' },
    message: `worker 1 of 2 waited 1 seconds for the others to start: ${store}`,
    cause: { code: 'ERR_COLL_DEADLINE', rank: 0, operation: 'start', message: store },
  });
});

it('opening the group stops looking for a store once its signal is aborted', async () => {
  const opening = openWorkerGroup(configAt('tcp://127.0.0.1:1', 2), AbortSignal.abort('enough'));
  await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
});

it('opening the group rejects if worker 0 ends before all workers have joined, even without a time limit', async () => {
  const server = await TcpStoreServer.listen(job);
  server.set(`keeper/${generation}`, new Uint8Array());
  const { address } = server;
  const store = await TcpStore.connect({ ...job, address });
  const opening = openWorkerGroup(configAt(address, 3));
  const rejection = expect(opening).rejects.toMatchObject({
    name: 'UnavailableError',
    code: 'ERR_COLL_PEER_FAILED',
    ...{ rank: 0, operation: 'start' },
    message: expect.stringMatching(/^worker 0 at 127\.0\.0\.1:\d+ was lost before all workers had joined: /),
  });
  await cardOf(store, 1);
  await server.close();
  await rejection;
  await store.close();
});

it('opening the group waits for the next store if the store of an earlier generation disappears', async () => {
  const former = await TcpStoreServer.listen(job);
  const { address } = former;
  const store = await TcpStore.connect({ ...job, address });
  const over = new AbortController();
  const opening = openWorkerGroup(configAt(address, 2), over.signal);
  await cardOf(store, 1);
  await former.close();
  await store.close();
  await using next = await TcpStoreServer.listen({ ...job, port: Number(new URL(address).port) });
  next.set(`keeper/${generation}`, new Uint8Array());
  await using again = await TcpStore.connect({ ...job, address });
  await cardOf(again, 1);
  over.abort();
  await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
});

it('opening the group fails if the store of a launcher disappears, instead of waiting for another store', async () => {
  const server = await TcpStoreServer.listen(job);
  const { address } = server;
  const store = await TcpStore.connect({ ...job, address });
  const { storeAddress, ...config } = configAt(address, 2);
  const opening = openWorkerGroup({ ...config, storeAddress: { ...storeAddress, isOfWorker: false } });
  const rejection = expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_STORE' });
  await cardOf(store, 1);
  await server.close();
  await rejection;
  await store.close();
});

it('opening the group logs missing workers after 30 seconds, and then every minute', async () => {
  const lines = vi.spyOn(console, 'error').mockImplementation(() => {});
  await using server = await TcpStoreServer.listen(job);
  const { address } = server;
  await using store = await TcpStore.connect({ ...job, address });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const over = new AbortController();
  const opening = openWorkerGroup(configAt(address, 4), over.signal);
  await cardOf(store, 1);
  await subStore(store, 'main').set(`job/${job.job}/generation/${generation}/peers/2`, new Uint8Array());
  // The member that opens the group hears of it over a connection of its own, but in the same event loop.
  for (let turn = 0; turn < 20; turn++) await cardOf(store, 2);
  vi.advanceTimersByTime(29_999);
  expect(lines).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  vi.advanceTimersByTime(60_000);
  const warning = (seconds: number) => `worker 1 of 4 has waited ${seconds} seconds for worker 0, 3`;
  expect(messages(lines)).toEqual([warning(30), warning(90)]);
  over.abort();
  await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
  vi.advanceTimersByTime(600_000);
  expect(lines).toHaveBeenCalledTimes(2);
});

it.each([
  [true, 'worker 0 at 127.0.0.1:1'],
  [false, 'the store at tcp://127.0.0.1:1'],
])('opening the group logs that the store is missing; the store belongs to worker 0: %s', async (isOfWorker, store) => {
  const lines = vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const over = new AbortController();
  const { storeAddress, ...config } = configAt('tcp://127.0.0.1:1', 4);
  const opening = openWorkerGroup({ ...config, storeAddress: { ...storeAddress, isOfWorker } }, over.signal);
  vi.advanceTimersByTime(30_000);
  expect(messages(lines)).toEqual([`worker 1 of 4 has waited 30 seconds for ${store}`]);
  over.abort();
  await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
});

it('the warning about missing workers contains the time limit', async () => {
  const lines = vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const over = new AbortController();
  const opening = openWorkerGroup({ ...configAt('tcp://127.0.0.1:1', 4), startupTimeoutSeconds: 90 }, over.signal);
  vi.advanceTimersByTime(30_000);
  const message = 'worker 1 of 4 has waited 30 seconds for worker 0 at 127.0.0.1:1; startupTimeoutSeconds is 90';
  expect(messages(lines)).toEqual([message]);
  over.abort();
  await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
});

it('only worker 0 runs the store, at its own address', async () => {
  const free = await TcpStoreServer.listen(job);
  const { address } = free;
  await free.close();
  const { storeAddress, ...config } = configAt(address, 2);
  expect(await keepStore({ ...config, storeAddress })).toBeUndefined();
  await using server = await keepStore({ ...config, storeAddress: { ...storeAddress, generation: 3, isHere: true } });
  expect(server?.address).toBe(address);
  await using store = await TcpStore.connect({ ...job, address });
  expect(await store.get('keeper/3')).toEqual(new Uint8Array());
});

it('each step of opening the group waits at most for the remaining startup time', async () => {
  // Simulates that 9.8 seconds have passed before the first step.
  const begin = performance.now();
  vi.spyOn(performance, 'now')
    .mockReturnValueOnce(begin)
    .mockReturnValueOnce(begin + 9800);
  const opening = openWorkerGroup({ ...configAt('tcp://127.0.0.1:1', 2), startupTimeoutSeconds: 10 });
  await expect(opening).rejects.toMatchObject({
    message: expect.stringMatching(/^worker 1 of 2 waited 10 seconds for the others to start: /),
    cause: { cause: { message: expect.stringContaining('within 0.2 seconds') } },
  });
});

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

it.skipIf(!hasIPv6)('the store can have an IPv6 address', async () => {
  const { storeAddress, ...config } = configAt('tcp://[::1]:0', 2);
  await using server = await keepStore({ ...config, storeAddress: { ...storeAddress, isHere: true } });
  expect(server?.address).toMatch(/^tcp:\/\/\[::1\]:[1-9]/);
});

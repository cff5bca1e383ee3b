import { networkInterfaces } from 'node:os';
import { joinGroup, type Store, subStore, TcpStore, TcpStoreServer } from '@coll/rendezvous';
import { afterEach, expect, it, vi } from 'vitest';
import { keepStore, openWorkerGroup } from './open-worker-group.js';

const job = { job: 'workers', jobKey: TcpStoreServer.newKey() };
const generation = 0;

/** Worker 1 of some whose worker 0 keeps a store there. */
function seatAt(address: string, size: number) {
  const meeting = { ...job, address, generation, isOfWorker: true, isHere: false };
  return { meeting, rank: 1, size, transport: {}, startupTimeoutSeconds: null, scope: 'main' };
}

/** Waits until a member has shown its card. */
async function cardOf(store: Store, rank: number) {
  await subStore(store, 'main').get(`generation/${generation}/peers/${rank}`);
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it('does not try again where workers of a newer generation have come', async () => {
  await using server = await TcpStoreServer.listen(job);
  const { address } = server;
  await using store = await TcpStore.connect({ ...job, address });
  const part = subStore(store, 'main');
  const card = new Uint8Array();
  const over = new AbortController();
  const newer = joinGroup(part, { rank: 0, size: 2, generation: 1, card, signal: over.signal }).catch(() => {});
  await part.get('newest');
  await expect(openWorkerGroup(seatAt(address, 2))).rejects.toMatchObject({
    name: 'UnavailableError',
    code: 'ERR_COLL_STORE',
    message: expect.stringMatching(/^generation 0 has ended, because rank 0 joined generation 1/),
  });
  over.abort();
  await newer;
});

it('says where worker 0 should have been when the time is over', async () => {
  const seat = { ...seatAt('tcp://127.0.0.1:1', 2), startupTimeoutSeconds: 0.3 };
  const store = 'worker 0 at 127.0.0.1:1 did not arrive';
  await expect(openWorkerGroup(seat)).rejects.toMatchObject({
    ...{ name: 'RuntimeError', code: 'ERR_COLL_DEADLINE', rank: 1, operation: 'start' },
    message: `worker 1 of 2 waited 0.3 seconds for the others to start: ${store}`,
    cause: { code: 'ERR_COLL_DEADLINE', rank: 0, operation: 'start', message: store },
  });
});

it('looks for no other store once its signal has aborted', async () => {
  const opening = openWorkerGroup(seatAt('tcp://127.0.0.1:1', 2), AbortSignal.abort('enough'));
  await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
});

it('rejects naming worker 0 when it ends while the workers meet, even without a time limit', async () => {
  const server = await TcpStoreServer.listen(job);
  server.set(`keeper/${generation}`, new Uint8Array());
  const { address } = server;
  const store = await TcpStore.connect({ ...job, address });
  const opening = openWorkerGroup(seatAt(address, 3));
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

it('waits for the next store when the one of an earlier generation goes away', async () => {
  const former = await TcpStoreServer.listen(job);
  const { address } = former;
  const store = await TcpStore.connect({ ...job, address });
  const over = new AbortController();
  const opening = openWorkerGroup(seatAt(address, 2), over.signal);
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

it('does not wait for another store of a launcher that has ended', async () => {
  const server = await TcpStoreServer.listen(job);
  const { address } = server;
  const store = await TcpStore.connect({ ...job, address });
  const { meeting, ...seat } = seatAt(address, 2);
  const opening = openWorkerGroup({ ...seat, meeting: { ...meeting, isOfWorker: false } });
  const rejection = expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_STORE' });
  await cardOf(store, 1);
  await server.close();
  await rejection;
  await store.close();
});

it('warns after 30 seconds, and then every minute, which workers are missing', async () => {
  const lines = vi.spyOn(console, 'error').mockImplementation(() => {});
  await using server = await TcpStoreServer.listen(job);
  const { address } = server;
  await using store = await TcpStore.connect({ ...job, address });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const over = new AbortController();
  const opening = openWorkerGroup(seatAt(address, 4), over.signal);
  await cardOf(store, 1);
  await subStore(store, 'main').set(`generation/${generation}/peers/2`, new Uint8Array());
  await cardOf(store, 2);
  vi.advanceTimersByTime(29_999);
  expect(lines).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  vi.advanceTimersByTime(60_000);
  const told = (seconds: number) => [`coll warn: worker 1 of 4 has waited ${seconds} seconds for worker 0, 3`];
  expect(lines.mock.calls).toEqual([told(30), told(90)]);
  over.abort();
  await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
  vi.advanceTimersByTime(600_000);
  expect(lines).toHaveBeenCalledTimes(2);
});

it.each([
  [true, 'worker 0 at 127.0.0.1:1'],
  [false, 'the store at tcp://127.0.0.1:1'],
])('warns of a store that has not come, of a worker: %s', async (isOfWorker, store) => {
  const lines = vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const over = new AbortController();
  const { meeting, ...seat } = seatAt('tcp://127.0.0.1:1', 4);
  const opening = openWorkerGroup({ ...seat, meeting: { ...meeting, isOfWorker } }, over.signal);
  vi.advanceTimersByTime(30_000);
  expect(lines.mock.calls).toEqual([[`coll warn: worker 1 of 4 has waited 30 seconds for ${store}`]]);
  over.abort();
  await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
});

it('tells in its warning how long it will wait', async () => {
  const lines = vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const over = new AbortController();
  const opening = openWorkerGroup({ ...seatAt('tcp://127.0.0.1:1', 4), startupTimeoutSeconds: 90 }, over.signal);
  vi.advanceTimersByTime(30_000);
  const told =
    'coll warn: worker 1 of 4 has waited 30 seconds for worker 0 at 127.0.0.1:1; startupTimeoutSeconds is 90';
  expect(lines.mock.calls).toEqual([[told]]);
  over.abort();
  await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
});

it('keeps the store at the address of worker 0, and nowhere else', async () => {
  const free = await TcpStoreServer.listen(job);
  const { address } = free;
  await free.close();
  const { meeting, ...seat } = seatAt(address, 2);
  expect(await keepStore({ ...seat, meeting })).toBeUndefined();
  await using server = await keepStore({ ...seat, meeting: { ...meeting, generation: 3, isHere: true } });
  expect(server?.address).toBe(address);
  await using store = await TcpStore.connect({ ...job, address });
  expect(await store.get('keeper/3')).toEqual(new Uint8Array());
});

it('waits only as long for each step as is left of the time to start', async () => {
  const now = performance.now.bind(performance);
  // It begins 9.8 seconds before its first step.
  vi.spyOn(performance, 'now').mockImplementationOnce(() => now() - 9800);
  const opening = openWorkerGroup({ ...seatAt('tcp://127.0.0.1:1', 2), startupTimeoutSeconds: 10 });
  await expect(opening).rejects.toMatchObject({
    message: expect.stringMatching(/^worker 1 of 2 waited 10 seconds for the others to start: /),
    cause: { cause: { message: expect.stringContaining('within 0.2 seconds') } },
  });
});

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

it.skipIf(!hasIPv6)('keeps the store at an address of IPv6', async () => {
  const { meeting, ...seat } = seatAt('tcp://[::1]:0', 2);
  await using server = await keepStore({ ...seat, meeting: { ...meeting, isHere: true } });
  expect(server?.address).toMatch(/^tcp:\/\/\[::1\]:[1-9]/);
});

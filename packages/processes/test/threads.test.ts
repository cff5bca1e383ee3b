import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { TcpStoreServer } from '@coll/rendezvous';
import { expect, it } from 'vitest';
import type { ThreadTask } from './fixtures/thread.js';

const entry = new URL('./fixtures/thread.ts', import.meta.url);

// A thread may end as soon as it has reported that it is ready.
const exits = new WeakMap<Worker, Promise<unknown[]>>();

function start(workerData: ThreadTask): Worker {
  const thread = new Worker(entry, { workerData });
  exits.set(thread, once(thread, 'exit'));
  return thread;
}

async function twoThreads(endings: readonly ThreadTask['ending'][]): Promise<readonly [Worker, Worker]> {
  const jobKey = TcpStoreServer.newKey();
  const server = await TcpStoreServer.listen({ job: 'test', jobKey });
  const { address } = server;
  const threads = endings.map((ending, rank) => start({ rank, address, jobKey, ending })) as [Worker, Worker];
  const ready = await Promise.all(threads.map((thread) => once(thread, 'message')));
  expect(ready).toEqual([[[3, 3, 1, 3]], [[3, 3, 2, 3]]]);
  await server.close();
  return threads;
}

it('threads of one process can be members of several groups each', async () => {
  const threads = await twoThreads(['leave', 'leave']);
  expect(await Promise.all(threads.map((thread) => exits.get(thread) as Promise<unknown[]>))).toEqual([[0], [0]]);
});

it('a member whose thread is terminated is reported to the other members at once', async () => {
  const [first, second] = await twoThreads(['wait', 'idle']);
  const message = once(first, 'message');
  const begin = performance.now();
  await second.terminate();
  expect(String(await message)).toMatch(/rank 1 on .* has ended without leaving the group/);
  expect(performance.now() - begin).toBeLessThan(60_000);
  await first.terminate();
});

it('a thread that is blocked in a call can be terminated', async () => {
  const [first, second] = await twoThreads(['block', 'idle']);
  const blocked = once(first, 'message');
  first.postMessage('go');
  await blocked;
  expect(await first.terminate()).toBe(1);
  await second.terminate();
});

it('a call in progress rejects when its thread closes the group and ends', async () => {
  const [first, second] = await twoThreads(['give up', 'idle']);
  const ended = once(first, 'exit');
  const message = once(first, 'message');
  first.postMessage('go');
  const outcome = await Promise.race([message, ended]);
  expect(outcome).toEqual(['ERR_COLL_CLOSED']);
  await ended;
  await second.terminate();
});

import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cpu } from './strategies.js';

const module = new URL('./fixtures/parent-port.mjs', import.meta.url);

/** The threads that have been started. */
let threads: Worker[] = [];
const add = (worker: Worker) => threads.push(worker);

beforeEach(() => {
  threads = [];
  process.on('worker', add);
});

afterEach(() => {
  process.off('worker', add);
});

describe("the parentPort of a replica's thread", () => {
  const run = async (strategy: MirroredStrategy, exportName: string, args: readonly unknown[] = []) =>
    strategy.experimentalLocalResults(await strategy.run(module, { exportName, args }));

  it('carries only messages of the module, of any form', async () => {
    await using strategy = new MirroredStrategy({ devices: cpu(2), crossDeviceOps: direct });
    const messages = [
      null,
      undefined,
      'text',
      ...['result', 'error', 'end', 'report', 'merge', 'merged', 'mergeFailed'].map((type) => ({ type, value: 42 })),
    ];
    for (let step = 0; step < 2; step++) expect(await run(strategy, 'posts', [messages])).toEqual([0, 1]);
  });

  it.each(['removesListeners', 'closes'])(
    'may lose its listeners, or be closed, without effect on runs: %s',
    async (exportName) => {
      await using strategy = new MirroredStrategy({ devices: cpu(2), crossDeviceOps: direct });
      for (let step = 0; step < 3; step++) expect(await run(strategy, exportName)).toEqual([0, 1]);
    },
  );

  it('delivers messages of the program to the module, and no others', async () => {
    await using strategy = new MirroredStrategy({ devices: cpu(2), crossDeviceOps: direct });
    await run(strategy, 'listens');
    const heard = threads.map((thread) => once(thread, 'message'));
    expect(await run(strategy, 'posts', [[]])).toEqual([0, 1]);
    for (const thread of threads) thread.postMessage({ type: 'close' });
    const answer = { type: 'error', value: { type: 'close' } };
    expect(await Promise.all(heard)).toEqual([[answer], [answer]]);
    expect(await run(strategy, 'posts', [[]])).toEqual([0, 1]);
  });

  it('with a listener does not keep the thread alive after the strategy was closed', async () => {
    const strategy = new MirroredStrategy({ devices: cpu(2), crossDeviceOps: direct });
    await run(strategy, 'listens');
    const exits = Promise.all(threads.map((thread) => once(thread, 'exit')));
    await strategy.close();
    // A thread that is terminated has the exit code 1.
    expect(await exits).toEqual([[0], [0]]);
  });
});

it("workerData of a replica's thread is undefined, as in a thread that has none", async () => {
  await using strategy = new MirroredStrategy({ devices: cpu(2), crossDeviceOps: direct });
  const data = await strategy.run(module, { exportName: 'data' });
  // Equal results of all replicas are one result.
  const none = 'undefined and undefined';
  expect(strategy.experimentalLocalResults(data)).toEqual([none]);
});

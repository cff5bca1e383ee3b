// A thread ends, in each way there is, while the other ranks are inside collectives: their calls fail, and no thread is left.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { tensor } from '@coll/core';
import { failThreadGroup } from '@coll/core/internal';
import { directAlgorithm } from '@coll/direct';
import { native } from '@coll/native';
import { errorOf, expectError, peerClosed, peerFailed } from '../ranks/errors.mjs';
import { RankThread, runScenes } from '../ranks/rank-thread.mjs';
import { countThreads, isSanitized, threadsAreDownTo } from '../ranks/this-process.mjs';

const algorithm = directAlgorithm();

const size = 3;
const sum = { kind: 'all-reduce', op: 'sum' };
const endings = ['terminate', 'throw', 'exit', 'close'];
// Announced with the call; in one slice; in several.
const sizesInBytes = [4, 1 << 20, 24 << 20];
// Long enough for busy machines: a rank that does not fail at once never fails.
const mostMillis = 60_000;
const rounds = isSanitized ? 12 : 24;

if (isMainThread) {
  const before = await countAfterWarmUp();
  const threads = startThreads();
  for (let round = 0; round < rounds; round++) await runRound(round, threads);
  await Promise.all(threads.map((thread) => thread.end()));
  await endInside('controlForEver', 1);
  await endInside('describeForEver', 8);
  await threadsAreDownTo(before);
  console.log(`in ${rounds} rounds the other ranks failed, and no thread is left`);
} else {
  runScenes({ runUntilFailure, controlForEver, describeForEver });
}

/** Node starts some threads of its own when they are first needed. */
async function countAfterWarmUp() {
  const threads = startThreads();
  await runRound(0, threads);
  await Promise.all(threads.map((thread) => thread.end()));
  return countThreads();
}

function startThreads() {
  return Array.from({ length: size }, () => new RankThread(import.meta.url));
}

async function runRound(round, threads) {
  const ending = endings[round % endings.length];
  const bytes = sizesInBytes[Math.floor(round / endings.length) % sizesInBytes.length];
  const doomed = Math.floor(Math.random() * size);
  const group = native.createGroup({ size, maxBytes: 1 << 20 });
  const calls = new Int32Array(new SharedArrayBuffer(4));
  const running = threads.map((thread, rank) => {
    const isAsync = Math.random() < 0.5;
    const own = { ending: rank === doomed ? ending : undefined, afterMillis: Math.random() * 15 };
    return thread.run('runUntilFailure', { group, rank, bytes, isAsync, calls, ...own });
  });
  running[doomed].catch(() => {});
  const ended = end(ending, threads[doomed], running[doomed], calls);
  if (ending !== 'close')
    void ended.then(() => failThreadGroup(group, doomed, `the thread of rank ${doomed} has ended`));
  const others = await Promise.all(running.filter((_, rank) => rank !== doomed));
  const endedAt = await ended;
  const when = `${ending} of rank ${doomed} after ${calls[0]} calls with ${bytes} bytes`;
  for (const { error, at } of others) {
    expectError(error, ending === 'close' ? peerClosed(doomed) : peerFailed(doomed), when);
    assert.ok(at - endedAt < mostMillis, `${when}: other ranks failed ${at - endedAt} ms later`);
  }
  if (threads[doomed].hasEnded) threads[doomed] = new RankThread(import.meta.url);
}

/** When the thread has ended, or closed its communicator. */
async function end(ending, thread, running, calls) {
  if (ending === 'close') return (await running).at;
  if (ending === 'terminate') {
    while (Atomics.load(calls, 0) === 0) await setTimeout(1);
    await setTimeout(Math.random() * 15);
    await thread.terminate();
  }
  await thread.exited;
  return Date.now();
}

/** Calls one after the other, until there is an error; after some time this thread ends in its own way, if it has one. */
async function runUntilFailure({ group, rank, bytes, isAsync, calls, ending, afterMillis }) {
  const communicator = native.join(group, { rank, algorithm });
  const buffers = [tensor(new Float32Array(bytes / 4))];
  let endsAt;
  const error = await errorOf(async () => {
    for (;;) {
      const call = isAsync ? communicator.run(sum, buffers, buffers) : communicator.runSync(sum, buffers, buffers);
      if (performance.now() >= endsAt) await endNow(ending, communicator);
      await call;
      Atomics.add(calls, 0, 1);
      endsAt ??= performance.now() + afterMillis;
    }
  });
  return { error, at: Date.now() };
}

async function endNow(ending, communicator) {
  if (ending === 'exit') process.exit(1);
  if (ending === 'close') await communicator.close();
  if (ending === 'throw') {
    // Outside of the promise of the scene.
    setImmediate(() => {
      throw new Error('on purpose');
    });
    await new Promise(() => {});
  }
}

/** A thread that ends while it is inside native code of any kind takes its helpers along. */
async function endInside(scene, times) {
  for (let time = 0; time < times; time++) {
    const thread = new RankThread(import.meta.url);
    const calls = new Int32Array(new SharedArrayBuffer(4));
    thread.run(scene, { calls }).catch(() => {});
    while (Atomics.load(calls, 0) === 0) await setTimeout(1);
    await setTimeout(Math.random() * 3);
    await thread.terminate();
  }
}

async function controlForEver({ calls }) {
  const communicator = native.communicator(2, algorithm);
  const buffers = [0, 1].map(() => tensor(new Float32Array(6 << 20)));
  for (;;) {
    await communicator.run(sum, buffers, buffers);
    Atomics.add(calls, 0, 1);
  }
}

/** Calls that spend their time with what is new about each of them. */
function describeForEver({ calls }) {
  const communicator = native.communicator(2, algorithm);
  for (;;) {
    const buffers = [0, 1].map(() => tensor(new Float32Array(1)));
    communicator.runSync(sum, buffers, buffers);
    Atomics.add(calls, 0, 1);
  }
}

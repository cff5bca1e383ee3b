// Memory after very many calls: no more than after some.
import assert from 'node:assert/strict';
import { isMainThread } from 'node:worker_threads';
import { zeros as zerosOf } from '@coll/core';
import { directAlgorithm as algorithm } from '@coll/direct';
import { native } from '@coll/native';
import { playScenes, playTogether, RankThread } from '../ranks/rank-thread.mjs';
import { collectGarbage, isSanitized } from '../ranks/this-process.mjs';

const sum = { kind: 'all-reduce', op: 'sum' };
const size = 2;
// A sanitizer takes memory for itself, and most of the time.
const share = isSanitized ? 50 : 1;
const calls = 100_000 / share;
const freshCalls = 20_000 / share;
const warmUps = 4;
const zeros = (bytes) => zerosOf('float32', [bytes / 4]);
// What comes and goes by itself: pages that the allocator keeps, code that V8 has just compiled, and garbage of a young generation.
const tolerance = (isSanitized ? 64 : 4) << 20;

if (isMainThread) {
  const threads = Array.from({ length: size }, () => new RankThread(import.meta.url));
  const ways = {
    'runSync of 4 bytes': [calls, amongThreads(threads, 'playSync', 4)],
    'runSync of 1 KiB': [calls, amongThreads(threads, 'playSync', 1024)],
    'run of 4 bytes': [calls, amongThreads(threads, 'play', 4)],
    'run by a controller': [calls, byController(64 << 10)],
    'fresh arrays': [freshCalls, amongThreads(threads, 'playFresh', 1024)],
    'fresh arrays by a controller': [freshCalls, byControllerFresh(1024)],
  };
  for (const [name, [count, play]] of Object.entries(ways)) {
    const grown = await growth(threads, count, play);
    console.log(name, grown / 1024, 'KiB');
  }
  await Promise.all(threads.map((thread) => thread.end()));
} else {
  playScenes({ playSync, play, playFresh, collectGarbage });
}

/** Bytes that the whole process takes for good in that many calls. */
async function growth(threads, count, play) {
  for (let round = 0; round < warmUps; round++) await play(count / 10);
  const before = await bytesInUse(threads);
  const begin = performance.now();
  await play(count);
  console.log(Math.round(performance.now() - begin), 'ms');
  return (await bytesInUse(threads)) - before;
}

async function bytesInUse(threads) {
  await Promise.all(threads.map((thread) => thread.play('collectGarbage')));
  await collectGarbage();
  return process.memoryUsage().rss;
}

function amongThreads(threads, scene, bytes) {
  const group = native.createGroup({ size, maxBytes: 1 << 20 });
  return (count) => playTogether(threads, scene, { group, scene, bytes, count });
}

function byController(bytes) {
  const communicator = native.communicator(size, algorithm);
  const buffers = Array.from({ length: size }, () => zeros(bytes));
  return async (count) => {
    for (let call = 0; call < count; call++) await communicator.run(sum, buffers, buffers);
  };
}

function byControllerFresh(bytes) {
  const communicator = native.communicator(size, algorithm);
  return async (count) => {
    for (let call = 0; call < count; call++) {
      const buffers = Array.from({ length: size }, () => zeros(bytes));
      await communicator.run(sum, buffers, buffers);
    }
  };
}

// A thread joins each of its groups once.
let latest;

function join({ group, rank, bytes, scene }) {
  if (latest?.scene === scene && latest.bytes === bytes) return latest;
  latest = { scene, bytes, communicator: native.join(group, { rank, algorithm }), buffers: [zeros(bytes)] };
  return latest;
}

function playSync({ count, ...data }) {
  const { communicator, buffers } = join(data);
  for (let call = 0; call < count; call++) communicator.runSync(sum, buffers, buffers);
}

async function play({ count, ...data }) {
  const { communicator, buffers } = join(data);
  for (let call = 0; call < count; call++) await communicator.run(sum, buffers, buffers);
}

function playFresh({ count, ...data }) {
  const { communicator } = join(data);
  for (let call = 0; call < count; call++) {
    const buffers = [zeros(data.bytes)];
    communicator.runSync(sum, buffers, buffers);
  }
}

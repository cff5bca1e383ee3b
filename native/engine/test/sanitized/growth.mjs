// Memory after very many calls: no more than after some.
import assert from 'node:assert/strict';
import { isMainThread } from 'node:worker_threads';
import { zeros } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { native } from '@coll/native';
import { RankThread, runScenes, runTogether } from '../ranks/rank-thread.mjs';
import { collectGarbage, isSanitized } from '../ranks/this-process.mjs';

const algorithm = directAlgorithm();

const sum = { kind: 'all-reduce', op: 'sum' };
const size = 2;
// A sanitizer takes most of the time.
const share = isSanitized ? 50 : 1;
const calls = 100_000 / share;
const freshCalls = 20_000 / share;
// Calls come in so many bursts. What was fresh then is garbage, which is collected; how much V8 would let lie around is not our matter.
const bursts = 10;
const warmUpBursts = 5;
// Young objects would get more and more room where many are made.
const resourceLimits = { maxYoungGenerationSizeMb: 3 };
// Of all of the process: pages that the allocator keeps, and code that V8 has compiled. A sanitizer keeps freed memory for a while.
const residentTolerance = (isSanitized ? 128 : 4) << 20;
// Of arrays, and what else JavaScript knows about: the messages of a scene.
const externalTolerance = 64 << 10;

if (isMainThread) {
  const threads = Array.from({ length: size }, () => new RankThread(import.meta.url, { resourceLimits }));
  await expectNoGrowth(threads, 'runSync of 4 bytes', calls, amongThreads(threads, 'runSync', 4));
  await expectNoGrowth(threads, 'runSync of 1 KiB', calls, amongThreads(threads, 'runSync', 1024));
  await expectNoGrowth(threads, 'run of 4 bytes', calls, amongThreads(threads, 'run', 4));
  await expectNoGrowth(threads, 'run by a controller', calls, byController(threads, 'control', 64 << 10));
  await expectNoGrowth(threads, 'fresh arrays', freshCalls, amongThreads(threads, 'runFresh', 1024));
  await expectNoGrowth(
    threads,
    'fresh arrays by a controller',
    freshCalls,
    byController(threads, 'controlFresh', 1024),
  );
  await Promise.all(threads.map((thread) => thread.end()));
  console.log(`no growth in ${4 * calls} calls, nor with fresh arrays in ${2 * freshCalls}`);
} else {
  runScenes({ runSync, run, runFresh, control, controlFresh, externalBytes });
}

async function expectNoGrowth(threads, name, count, run) {
  const runBursts = async (many) => {
    for (let burst = 0; burst < many; burst++) await run(count / bursts);
  };
  await runBursts(warmUpBursts);
  const before = await bytesInUse(threads);
  await runBursts(bursts);
  const after = await bytesInUse(threads);
  const grown = (what) => after[what] - before[what];
  assert.ok(grown('resident') < residentTolerance, `${name}: ${grown('resident')} bytes more`);
  assert.ok(grown('external') < externalTolerance, `${name}: ${grown('external')} bytes more of arrays`);
}

async function bytesInUse(threads) {
  const external = await Promise.all([...threads.map((thread) => thread.run('externalBytes')), externalBytes()]);
  return { resident: process.memoryUsage.rss(), external: external.reduce((all, one) => all + one) };
}

/** Of this thread. */
async function externalBytes() {
  await collectGarbage();
  const { external, arrayBuffers } = process.memoryUsage();
  return external + arrayBuffers;
}

function amongThreads(threads, scene, bytes) {
  const group = native.createGroup({ size, maxBytes: 1 << 20 });
  return (count) => runTogether(threads, scene, { group, scene, bytes, count });
}

function byController([thread], scene, bytes) {
  return (count) => thread.run(scene, { bytes, count });
}

// A thread joins each of its groups once, and leaves none.
let latest;

function join({ group, rank, scene, bytes }) {
  if (latest?.scene === scene && latest.bytes === bytes) return latest;
  latest = { scene, bytes, communicator: native.join(group, { rank, algorithm }), buffers: [zerosOf(bytes)] };
  return latest;
}

function runSync({ count, ...data }) {
  const { communicator, buffers } = join(data);
  for (let call = 0; call < count; call++) communicator.runSync(sum, buffers, buffers);
}

async function run({ count, ...data }) {
  const { communicator, buffers } = join(data);
  for (let call = 0; call < count; call++) await communicator.run(sum, buffers, buffers);
}

async function runFresh({ count, ...data }) {
  const { communicator } = join(data);
  for (let call = 0; call < count; call++) {
    const buffers = [zerosOf(data.bytes)];
    communicator.runSync(sum, buffers, buffers);
  }
  await collectGarbage();
}

let communicator;

async function control({ bytes, count }) {
  communicator ??= native.communicator(size, algorithm);
  const buffers = Array.from({ length: size }, () => zerosOf(bytes));
  for (let call = 0; call < count; call++) await communicator.run(sum, buffers, buffers);
}

async function controlFresh({ bytes, count }) {
  communicator ??= native.communicator(size, algorithm);
  for (let call = 0; call < count; call++) {
    const buffers = Array.from({ length: size }, () => zerosOf(bytes));
    await communicator.run(sum, buffers, buffers);
  }
  await collectGarbage();
}

function zerosOf(bytes) {
  return zeros('float32', [bytes / 4]);
}

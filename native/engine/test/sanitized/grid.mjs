// Every dtype, op and kind in 1 to 4 threads and by one controller, waiting in both ways, against plain arithmetic.
import { isMainThread } from 'node:worker_threads';
import { directAlgorithm } from '@coll/direct';
import { native } from '@coll/native';
import { ringAlgorithm } from '@coll/ring';
import { buffersOf, callsOf, cut, drawn } from '../ranks/grid.mjs';
import { RankThread, runScenes, runTogether } from '../ranks/rank-thread.mjs';

const algorithms = [directAlgorithm(), ringAlgorithm()];
const sizes = [1, 2, 3, 4];
// Calls that a thread makes before it waits for any of them.
const atOnce = 12;

if (isMainThread) {
  const threads = sizes.map(() => new RankThread(import.meta.url));
  let calls = 0;
  for (const size of sizes) {
    const groups = algorithms.map(() => native.createGroup({ size }));
    await runTogether(threads.slice(0, size), 'runGrid', { size, groups });
    calls += await controlGrid(size);
  }
  await Promise.all(threads.map((thread) => thread.end()));
  console.log(`${calls} calls in threads and as many by a controller gave what they should`);
} else {
  runScenes({ runGrid });
}

async function runGrid({ size, groups, rank }) {
  const communicators = groups.map((group, index) => native.join(group, { rank, algorithm: algorithms[index] }));
  // Ranks of one call differ in how they wait.
  await runCalls(communicators, size, [rank], (call) => drawn(call, 3 + rank, 3) !== 0);
}

async function controlGrid(size) {
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  const communicators = algorithms.map((algorithm) => native.communicator(size, algorithm));
  const calls = await runCalls(communicators, size, ranks, (call) => drawn(call, 3, 2) === 0);
  for (const communicator of communicators) await communicator.close();
  return calls;
}

/** Makes the calls of a group for `ranks`, which are all in this thread. @returns the number of calls */
async function runCalls(communicators, size, ranks, isSync) {
  let calls = 0;
  const running = [];
  for (const call of callsOf(size)) {
    const communicator = communicators[drawn(call, 0, communicators.length)];
    if (communicator.refuses(call.collective, call.dtype)) continue;
    calls += 1;
    if (isSync(call) || running.length === atOnce) await Promise.all(running.splice(0));
    const buffers = ranks.map((rank) => buffersOf(call, rank, communicator.group.allocate.bind(communicator.group)));
    if (isSync(call)) runSync(communicator, call, buffers);
    else running.push(run(communicator, call, buffers));
  }
  await Promise.all(running);
  return calls;
}

function runSync(communicator, call, buffers) {
  const { collective } = call;
  communicator.runSync(collective, ...(isInSegments(call) ? segmentsOf(buffers) : tensorsOf(buffers)));
  for (const { check } of buffers) check();
}

async function run(communicator, call, buffers) {
  const { collective } = call;
  await communicator.run(collective, ...(isInSegments(call) ? segmentsOf(buffers) : tensorsOf(buffers)));
  for (const { check } of buffers) check();
}

// Of the others the buffers have blocks.
function isInSegments(call) {
  return ['all-reduce', 'reduce', 'broadcast'].includes(call.collective.kind) && drawn(call, 4, 3) === 0;
}

function tensorsOf(buffers) {
  return [buffers.map(({ input }) => input), buffers.map(({ output }) => output)];
}

function segmentsOf(buffers) {
  return tensorsOf(buffers).map((tensors) => tensors.map(cut));
}

// How processes end: at once after process.exit(), even if threads are inside collectives, and by themselves after all work.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { native } from '@coll/native';
import { runProgram } from '../ranks/run-program.mjs';

const algorithm = directAlgorithm();

const size = 3;
const sum = { kind: 'all-reduce', op: 'sum' };
// Of machines that are busy; who does not end at once never ends.
const promptMillis = 60_000;
const small = 4;
const large = 24 << 20;

const exit = () => process.exit(3);
const fail = () => {
  throw new Error('on purpose');
};

/** Programs that print when they are about to end, and the code that they end with. */
const programs = {
  exitAmongSmall: { code: 3, run: () => amongThreads(small, exit) },
  exitAmongLarge: { code: 3, run: () => amongThreads(large, exit) },
  exitWithHelpers: { code: 3, run: () => withHelpers(exit) },
  failAmongSmall: { code: 1, run: () => amongThreads(small, fail) },
  failAmongLarge: { code: 1, run: () => amongThreads(large, fail) },
  failWithHelpers: { code: 1, run: () => withHelpers(fail) },
  endOfController: { code: 0, run: endOfController },
  endOfThreads: { code: 0, run: endOfThreads },
  endOfMainRank: { code: 0, run: endOfMainRank },
};

if (!isMainThread) await runRank(workerData);
else if (process.argv[2]) await programs[process.argv[2]].run();
else {
  // Some at once, because they wait more than they work.
  const names = Object.keys(programs);
  while (names.length > 0) await Promise.all(names.splice(0, 3).map(expectEnd));
  console.log(`${Object.keys(programs).length} processes ended as they should`);
}

async function expectEnd(name) {
  const { code, signal, output, millisAfterPrint } = await runProgram(fileURLToPath(import.meta.url), [name]);
  assert.equal(signal ?? code, programs[name].code, `${name}: ended with ${signal ?? code}, and said ${output}`);
  assert.ok(output.startsWith('now'), `${name}: said ${output}`);
  assert.ok(millisAfterPrint < promptMillis, `${name}: ended after ${millisAfterPrint} ms`);
}

/** While ranks 0 and 1 work in threads of their own, and wait for each other in both ways. */
async function amongThreads(bytes, end) {
  const group = native.createGroup({ size: 2 });
  const calls = new Int32Array(new SharedArrayBuffer(4));
  for (const rank of [0, 1]) startThread({ group, rank, bytes, calls, isAsync: rank === 1 });
  await endAfterSome(calls, end);
}

/** While a controller here works with its helpers, and one in a thread as well. */
async function withHelpers(end) {
  const calls = new Int32Array(new SharedArrayBuffer(4));
  startThread({ calls });
  void control(calls);
  await endAfterSome(calls, end);
}

async function endAfterSome(calls, end) {
  while (Atomics.load(calls, 0) < 3) await setTimeout(1);
  console.log('now');
  end();
}

// Nothing is closed in these.
async function endOfController() {
  const communicator = native.communicator(2, algorithm);
  const buffers = [0, 1].map(() => tensor(new Float32Array(large / 4)));
  await communicator.run(sum, buffers, buffers);
  communicator.runSync(sum, buffers, buffers);
  console.log('now');
}

async function endOfThreads() {
  const group = native.createGroup({ size });
  const calls = new Int32Array(new SharedArrayBuffer(4));
  for (let rank = 0; rank < size; rank++)
    startThread({ group, rank, bytes: large, calls, isAsync: rank > 0, mostCalls: 3 });
  while (Atomics.load(calls, 0) < 3 * size) await setTimeout(1);
  console.log('now');
}

/** The main thread is a rank as well. */
async function endOfMainRank() {
  const group = native.createGroup({ size: 2 });
  const calls = new Int32Array(new SharedArrayBuffer(4));
  startThread({ group, rank: 1, bytes: small, calls, isAsync: false, mostCalls: 2 });
  await runRank({ group, rank: 0, bytes: small, calls, isAsync: true, mostCalls: 2 });
  console.log('now');
}

function startThread(data) {
  const worker = new Worker(new URL(import.meta.url), { workerData: data });
  // Without this, one that fails would end the process as if it had been the main thread.
  worker.on('error', (error) => console.log(`a thread failed: ${error.stack}`));
}

async function runRank({ group, rank, bytes, calls, isAsync, mostCalls = Number.POSITIVE_INFINITY }) {
  if (!group) return control(calls);
  const communicator = native.join(group, { rank, algorithm });
  const buffers = [tensor(new Float32Array(bytes / 4))];
  for (let call = 0; call < mostCalls; call++) {
    if (isAsync) await communicator.run(sum, buffers, buffers);
    else communicator.runSync(sum, buffers, buffers);
    Atomics.add(calls, 0, 1);
  }
}

async function control(calls) {
  const communicator = native.communicator(2, algorithm);
  const buffers = [0, 1].map(() => tensor(new Float32Array(large / 4)));
  for (;;) {
    await communicator.run(sum, buffers, buffers);
    Atomics.add(calls, 0, 1);
  }
}

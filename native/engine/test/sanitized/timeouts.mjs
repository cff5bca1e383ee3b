// Waiting that ends: by a deadline, which names who is missing, by a signal, and at little expense where there are more ranks than cores.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { native } from '@coll/native';
import { errorOf, expectError } from '../ranks/errors.mjs';
import { RankThread, runScenes, runTogether } from '../ranks/rank-thread.mjs';
import { patience } from '../ranks/this-process.mjs';

const algorithm = directAlgorithm();

const sum = { kind: 'all-reduce', op: 'sum' };
const reason = 'enough';
const small = 1;
const large = 6 << 20;
const soonSeconds = 0.15;
const [sleeping, awake] = [1, 2];
const aborted = { name: 'AbortedError', code: 'ERR_COLL_ABORTED' };
const late = { name: 'DeadlineExceededError', code: 'ERR_COLL_DEADLINE' };

if (isMainThread) {
  const threads = [0, 1, 2, 3].map(() => new RankThread(import.meta.url));
  const millis = await bestOfThree(() => runMany(threads));
  // Who waits for a rank that has no core gives up its own; when it gets one again is a matter of what else the machine does.
  assert.ok(millis < 2000 * patience, `calls of four ranks take ${millis} ms of cores`);
  for (const length of [small, large]) {
    for (const isAsync of [
      [false, false],
      [true, true],
      [false, true],
    ])
      await expectDeadline(threads, length, isAsync);
    await expectBusy(threads, length);
    await expectAbort(threads, length);
  }
  await expectEndOfController();
  await Promise.all(threads.map((thread) => thread.end()));
  console.log(
    `four ranks made 1000 calls in ${Math.round(millis)} ms of cores; deadlines named the missing, and signals ended calls`,
  );
} else {
  runScenes({ wait, arriveAndSleep, abort, runCalls });
}

/** Rank 2 has not even joined. */
async function expectDeadline(threads, length, isAsync) {
  const group = native.createGroup({ size: 3, maxBytes: 1 << 20 });
  const waited = isAsync.map((own, rank) => threads[rank].run('wait', { group, rank, length, isAsync: own }));
  const when = `${length} elements, asynchronous: ${isAsync}`;
  const answers = await Promise.all(waited);
  for (const { error } of answers) {
    expectError(error, late, when);
    // As may another one, where the machine is busy.
    assert.match(error.message, /\b2 did not arrive$/, when);
  }
  // Ranks that arrive later fail as soon as the first rank's deadline has passed.
  const millis = Math.max(...answers.map((answer) => answer.millis));
  assert.ok(millis > soonSeconds * 900 && millis < 60_000, `${when}: ${millis} ms`);
}

/** Rank 1 has come, and its thread is busy with something else then: that is no matter where all is said with the arrival. */
async function expectBusy(threads, length) {
  const group = native.createGroup({ size: 2, maxBytes: 1 << 20 });
  const state = new Int32Array(new SharedArrayBuffer(4));
  const slept = threads[1].run('arriveAndSleep', { group, rank: 1, length, state });
  while (Atomics.load(state, 0) !== sleeping) await setTimeout(1);
  const { error } = await threads[0].run('wait', { group, rank: 0, length, isAsync: true });
  Atomics.store(state, 0, awake);
  Atomics.notify(state, 0);
  if (length === small) {
    assert.equal(error, undefined, 'arrived');
    assert.equal(await slept, undefined, 'arrived');
    return;
  }
  expectError(error, late, 'busy');
  assert.match(error.message, /rank 1 arrived, but is busy$/, 'busy');
  expectError(await slept, late, 'busy');
}

/** Rank 1 aborts what waits for rank 2. */
async function expectAbort(threads, length) {
  const group = native.createGroup({ size: 3, maxBytes: 1 << 20 });
  const [waited, own] = await Promise.all([
    threads[0].run('wait', { group, rank: 0, length, isAsync: false, timeoutSeconds: 300 }),
    threads[1].run('abort', { group, rank: 1, length }),
  ]);
  expectError(waited.error, { ...aborted, rank: 1 }, 'rank 0');
  expectError(own, { ...aborted, rank: 1 }, 'rank 1');
}

async function expectEndOfController() {
  const communicator = native.communicator(2, algorithm);
  const buffers = [0, 1].map(() => tensor(new Float32Array(4 * large)));
  const run = (options) => errorOf(() => communicator.run(sum, buffers, buffers, options));
  let signal;
  let error;
  // On a busy machine one may be done before the event loop comes round.
  for (let tries = 0; tries < 20 && !error; tries++) {
    signal = abortedSoon();
    error = await run({ signal });
  }
  expectError(error, { ...aborted, cause: reason }, 'controller, under way');
  expectError(await run({ signal }), { ...aborted, cause: reason }, 'controller, before');
  expectError(await run({ timeoutSeconds: 1e-6 }), late, 'controller');
  assert.equal(await run({ timeoutSeconds: 1000 }), undefined, 'controller');
  await communicator.close();
}

/** A signal that is given when the event loop comes round. */
function abortedSoon() {
  const controller = new AbortController();
  setImmediate(() => controller.abort(reason));
  return controller.signal;
}

/** Other programs on the machine make single measurements too long. */
async function bestOfThree(measure) {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) best = Math.min(best, await measure());
  return best;
}

/** Milliseconds of cores that the process takes for them. */
async function runMany(threads) {
  const group = native.createGroup({ size: threads.length, maxBytes: 1 << 20 });
  const before = process.cpuUsage();
  await runTogether(threads, 'runCalls', { group });
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function wait({ group, rank, length, isAsync, timeoutSeconds = soonSeconds }) {
  const { communicator, buffers } = join(group, rank, length);
  const begin = performance.now();
  const error = await errorOf(() => {
    if (isAsync) return communicator.run(sum, buffers, buffers, { timeoutSeconds });
    return communicator.runSync(sum, buffers, buffers, { timeoutSeconds });
  });
  return { error, millis: performance.now() - begin };
}

async function arriveAndSleep({ group, rank, length, state }) {
  const { communicator, buffers } = join(group, rank, length);
  const call = communicator.run(sum, buffers, buffers);
  Atomics.store(state, 0, sleeping);
  Atomics.wait(state, 0, sleeping);
  return errorOf(() => call);
}

async function abort({ group, rank, length }) {
  const { communicator, buffers } = join(group, rank, length);
  const controller = new AbortController();
  void setTimeout(20).then(() => controller.abort(reason));
  const error = await errorOf(() => communicator.run(sum, buffers, buffers, { signal: controller.signal }));
  expectError(error, { cause: reason }, 'rank 1');
  return error;
}

/** Small calls, waiting in both ways. */
async function runCalls({ group, rank }) {
  const { communicator, buffers } = join(group, rank, small);
  for (let call = 0; call < 1000; call++) {
    if ((call >> 6) % 2 === 0) communicator.runSync(sum, buffers, buffers);
    else await communicator.run(sum, buffers, buffers);
  }
}

function join(group, rank, length) {
  const communicator = native.join(group, { rank, algorithm });
  return { communicator, buffers: [tensor(new Float32Array(length))] };
}

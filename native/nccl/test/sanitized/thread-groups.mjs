// Threads that are ended while they have a group: the other ranks fail, and nothing is left.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { binding } from '../addon-on-doubles.mjs';

const timeoutMillis = 240_000;
const count = 4;

function memberOf(size, ranks) {
  return binding.communicator({ size, ranks, devices: ranks, name: 'thread', blocking: ranks.length === size });
}

function allReduce(communicator, devices) {
  const buffers = devices.map((device) => binding.allocate(device, count * 4));
  for (const buffer of buffers) void binding.fill(buffer, 0, count * 4, new Uint8Array(1)).catch(() => undefined);
  const offsets = new Float64Array(buffers.length);
  const calls = new Float64Array([0, 7, 0, 0, count]);
  return binding.run(communicator, calls, buffers, offsets, buffers, offsets, timeoutMillis);
}

/** What a thread does before it is ended. */
const tasks = {
  /** It leaves an open group behind. */
  async idle() {
    const communicator = memberOf(2, [0, 1]);
    await binding.open(communicator, await binding.uniqueId(), timeoutMillis);
    await allReduce(communicator, [0, 1]);
  },
  /** Its collective does not end. */
  async busy() {
    const communicator = memberOf(2, [0, 1]);
    await binding.open(communicator, await binding.uniqueId(), timeoutMillis);
    writeFileSync(process.env.COLL_DOUBLE_CONTROL, 'stuck collective\n');
    void allReduce(communicator, [0, 1]).catch(() => undefined);
  },
  /** Nobody else comes to its group. */
  async lonely() {
    void binding.open(memberOf(2, [1]), await binding.uniqueId(), timeoutMillis).catch(() => undefined);
  },
  /** It has a group with the main thread. */
  async member(id) {
    await binding.open(memberOf(2, [1]), id, timeoutMillis);
  },
};

async function ended(task, id, meanwhile = async () => undefined) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { task, id } });
  const isReady = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  const result = await meanwhile(isReady, () => worker.terminate());
  await isReady;
  await worker.terminate();
  // The end of the thread has waited for the end of its groups.
  assert.equal(binding.counts().communicators, 0, task);
  writeFileSync(process.env.COLL_DOUBLE_CONTROL, '');
  return result;
}

if (!isMainThread) {
  await tasks[workerData.task](workerData.id);
  parentPort.postMessage('ready');
} else {
  const scratch = mkdtempSync(path.join(tmpdir(), 'coll-threads-'));
  process.env.COLL_DOUBLE_CONTROL = path.join(scratch, 'control');
  writeFileSync(process.env.COLL_DOUBLE_CONTROL, '');
  for (const task of ['idle', 'busy', 'lonely', 'idle']) await ended(task);

  const id = await binding.uniqueId();
  const outcome = await ended('member', id, async (isReady, terminate) => {
    const communicator = memberOf(2, [0]);
    await binding.open(communicator, id, timeoutMillis);
    await isReady;
    const failure = allReduce(communicator, [0]).then(
      () => assert.fail('its other rank has gone'),
      (error) => error,
    );
    await terminate();
    const error = await failure;
    await binding.destroy(communicator);
    while (binding.counts().communicators > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    return error;
  });
  assert.equal(outcome.kind, 'nccl');
  assert.match(outcome.message, /^all-reduce of thread \(number 2\): .*\(NCCL result 6\)/);
  const { buffers, unsettled } = binding.counts();
  assert.equal(unsettled, 0);
  rmSync(scratch, { recursive: true });
  console.log(`5 threads with groups ended as they should; ${buffers} buffers are left to the main thread`);
}

// How programs on GPUs end: threads while the GPU works for them, processes with work under way, and handles that nobody has freed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { binding } from '../addon-on-doubles.mjs';

const bytes = 1 << 22;
const one = new Uint8Array(new Float32Array([1]).buffer);
const timeoutMillis = 240_000;
/** Longer than the time limits inside the programs, which say more. */
const longestMillis = 300_000;
const both = [0, 1];

async function openAll() {
  const id = await binding.uniqueId();
  const communicator = binding.communicator({ size: 2, ranks: both, devices: both, name: 'endings' });
  await binding.open(communicator, id, timeoutMillis);
  return communicator;
}

function allReduce(communicator, buffers) {
  const offsets = new Float64Array(2);
  return binding.run(
    communicator,
    new Float64Array([0, 7, 0, 0, bytes / 4]),
    buffers,
    offsets,
    buffers,
    offsets,
    timeoutMillis,
  );
}

function filled() {
  const buffers = both.map((device) => binding.allocate(device, bytes));
  for (const buffer of buffers) void binding.fill(buffer, 0, bytes, one).catch(() => undefined);
  return buffers;
}

const programs = {
  /** Nothing is freed or destroyed, and the process ends by itself. */
  async nothingFreed() {
    const communicator = await openAll();
    const buffers = filled();
    await allReduce(communicator, buffers);
    const result = new Float32Array(bytes / 4);
    await binding.read(buffers[1], 0, result);
    assert.equal(result.at(-1), 2);
  },
  async exitWhileStuck() {
    const communicator = await openAll();
    void allReduce(communicator, filled());
    setTimeout(() => process.exit(0), 50);
  },
  async stuckAbortIsReported() {
    binding.configure({ timeoutMillis, abortGraceMillis: 50 });
    const communicator = await openAll();
    // Listening keeps no process alive.
    setTimeout(() => process.exit(1), 200_000);
    const reported = new Promise((resolve) => binding.onStuck(resolve));
    const call = allReduce(communicator, filled());
    setTimeout(() => binding.abort(communicator, 'enough'), 50);
    await assert.rejects(call, { kind: 'aborted', message: /enough$/ });
    assert.match(await reported, /does not return; .* end the process$/);
    await assert.rejects(binding.write(binding.allocate(0, 4), 0, new Uint8Array(4)), { kind: 'stuck' });
    // A listener that registers later is called, too.
    assert.equal(await new Promise((resolve) => binding.onStuck(resolve)), await reported);
    process.exit(0);
  },
  async manyHandlesCollected() {
    for (let i = 0; i < 2000; i++) await binding.write(binding.allocate(i % 2, 4096), 0, new Uint8Array(4096));
    assert.ok(binding.counts().unsettled < 10);
  },
  async pinnedMemoryIsFreed() {
    const memory = await binding.allocateHost(bytes);
    const buffer = binding.allocate(0, bytes);
    new Float32Array(memory).fill(3);
    const written = binding.write(buffer, 0, new Uint8Array(memory));
    binding.free(buffer);
    await written;
    binding.freeHost(memory);
    assert.equal(memory.byteLength, 0);
  },
};

/** What goes wrong in them. */
const wishes = {
  exitWhileStuck: 'stuck collective\n',
  stuckAbortIsReported: 'stuck collective\nstuck abort rank=1\n',
};

if (!isMainThread) {
  const views = Array.from({ length: 8 }, () => new Uint8Array(bytes * 4));
  const buffer = binding.allocate(workerData, bytes * 4);
  for (const view of views) {
    void binding.write(buffer, 0, view).catch(() => undefined);
    void binding.read(buffer, 0, view).catch(() => undefined);
  }
  parentPort.postMessage('busy');
} else if (process.argv[2]) {
  await programs[process.argv[2]]();
} else {
  const scratch = mkdtempSync(path.join(tmpdir(), 'coll-endings-'));
  const control = path.join(scratch, 'control');
  for (const name of Object.keys(programs)) {
    writeFileSync(control, wishes[name] ?? '');
    endedProcess(name, control);
  }
  for (let i = 0; i < 6; i++) await endedThread(i % 2);
  rmSync(scratch, { recursive: true });
  console.log(`${Object.keys(programs).length} processes and 6 threads ended as they should`);
}

function endedProcess(name, control) {
  const env = { ...process.env, COLL_DOUBLE_CONTROL: control };
  const limits = { timeout: longestMillis, killSignal: 'SIGKILL' };
  const args = [fileURLToPath(import.meta.url), name];
  const { status, signal, error, output } = spawnSync(process.execPath, args, { env, encoding: 'utf8', ...limits });
  const how =
    error?.code === 'ETIMEDOUT' ? `ran longer than ${longestMillis / 1000} s` : `ended with ${signal ?? status}`;
  assert.equal(signal ?? status, 0, `${name} ${how}, and had printed: ${output?.join('')}`);
}

/** A thread that is stopped while its memory moves. */
async function endedThread(device) {
  const hung = setTimeout(() => assert.fail(`a thread has not ended after ${longestMillis / 1000} s`), longestMillis);
  const worker = new Worker(new URL(import.meta.url), { workerData: device });
  await new Promise((resolve) => worker.once('message', resolve));
  await worker.terminate();
  clearTimeout(hung);
}

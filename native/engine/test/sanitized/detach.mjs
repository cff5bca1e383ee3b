// A program takes memory away that a collective works on: an error names the rank, and nobody touches the memory any more.
import assert from 'node:assert/strict';
import { isMainThread, MessageChannel } from 'node:worker_threads';
import { tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { native } from '@coll/native';
import { bufferLost, errorOf, expectError, peerFailed } from '../ranks/errors.mjs';
import { RankThread, runScenes, runTogether } from '../ranks/rank-thread.mjs';
import { collectGarbage } from '../ranks/this-process.mjs';

const algorithm = directAlgorithm();

const size = 2;
const sum = { kind: 'all-reduce', op: 'sum' };
// Several slices.
const bytes = 64 << 20;
const pageBytes = 64 << 10;

const plain = () => new ArrayBuffer(bytes);

/** Memory, and how it is taken away. */
const losses = {
  transfer: { memory: plain, lose: (buffer) => structuredClone(buffer, { transfer: [buffer] }) },
  post: {
    memory: plain,
    lose(buffer) {
      const { port1 } = new MessageChannel();
      port1.postMessage(buffer, [buffer]);
      port1.close();
    },
  },
  // Newer than some versions of Node that this runs on.
  ...('transfer' in ArrayBuffer.prototype && { move: { memory: plain, lose: (buffer) => buffer.transfer() } }),
  shrink: {
    memory: () => new ArrayBuffer(bytes, { maxByteLength: bytes }),
    lose: (buffer) => buffer.resize(bytes / 4),
  },
  grow: {
    memory() {
      const memory = new WebAssembly.Memory({ initial: bytes / pageBytes, maximum: bytes / pageBytes + 1 });
      grown.set(memory.buffer, memory);
      return memory.buffer;
    },
    lose: (buffer) => grown.get(buffer).grow(1),
  },
};
const grown = new WeakMap();

if (isMainThread) {
  const names = Object.keys(losses);
  for (const name of names) await loseAsController(name);
  const threads = Array.from({ length: size }, () => new RankThread(import.meta.url));
  for (const [index, name] of names.entries()) await loseAsMember(threads, name, index);
  await Promise.all(threads.map((thread) => thread.end()));
  console.log(`errors name who lost memory by ${names.join(', ')}`);
} else {
  runScenes({ lose });
}

async function loseAsController(name) {
  const communicator = native.communicator(size, algorithm);
  const [kept, lost] = [new ArrayBuffer(bytes), losses[name].memory()].map(whole);
  const buffers = [
    [kept, lost],
    [kept, lost],
  ];
  const error = await errorOf(() => running(communicator, buffers, name));
  expectError(error, bufferLost(1), `controller, ${name}`);
  await refusesFrom(communicator, buffers, name);
  const ones = [0, 1].map(() => tensor(new Float32Array(100).fill(1)));
  await communicator.run(sum, ones, ones);
  assert.ok(
    ones.every(({ data }) => data.every((element) => element === 2)),
    `controller, ${name}: does not go on`,
  );
  await communicator.close();
}

/** Ranks take turns in losing their memory, and the other one in how it waits. */
async function loseAsMember(threads, name, index) {
  const group = native.createGroup({ size, maxBytes: 1 << 20 });
  const loser = index % size;
  const errors = await runTogether(threads, 'lose', { group, name, loser, waitsSync: index % 3 === 0 });
  for (const [rank, error] of errors.entries()) {
    expectError(error, rank === loser ? bufferLost(loser) : peerFailed(loser), `rank ${rank}, ${name} by ${loser}`);
  }
}

async function lose({ group, rank, name, loser, waitsSync }) {
  const communicator = native.join(group, { rank, algorithm });
  const isLoser = rank === loser;
  // A call that all ranks refuse does not fail the group.
  const small = [tensor(new Float32Array(4))];
  communicator.runSync(sum, small, small);
  await refusesDetached(communicator, small);
  const ones = [tensor(new Float32Array(1000).fill(1))];
  communicator.runSync(sum, ones, ones);
  assert.equal(ones[0].data[999], size);

  const buffer = isLoser ? losses[name].memory() : plain();
  const buffers = [[whole(buffer)], [whole(buffer)]];
  const error = await errorOf(() => {
    if (isLoser) return running(communicator, buffers, name);
    return waitsSync ? communicator.runSync(sum, ...buffers) : communicator.run(sum, ...buffers);
  });
  await communicator.close();
  return error;
}

/** Of this length, even where the buffer is resized. */
function whole(buffer) {
  return tensor(new Float32Array(buffer, 0, bytes / 4));
}

/** A call under way, whose last output is taken away at once. */
async function running(communicator, [inputs, outputs], name) {
  const call = communicator.run(sum, inputs, outputs);
  losses[name].lose(outputs.at(-1).data.buffer);
  // What was freed too early is found by the sanitizers.
  await collectGarbage();
  await call;
}

async function refusesDetached(communicator, [{ data }]) {
  structuredClone(data.buffer, { transfer: [data.buffer] });
  const detached = [{ data, dtype: 'float32', shape: [4], device: '' }];
  await refusesFrom(communicator, [detached, detached], 'a small buffer');
}

async function refusesFrom(communicator, buffers, name) {
  for (const call of ['run', 'runSync']) {
    const error = await errorOf(() => communicator[call](sum, ...buffers));
    expectError(error, { name: 'ValueError' }, `${call} after ${name}`);
  }
}

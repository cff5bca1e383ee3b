// A program takes memory away that an asynchronous call of a group of processes has got: an error, and nobody touches the memory any more.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { openProcessGroup } from '@coll/processes';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { bufferLost, errorOf, expectError, peerFailed } from '../../../../native/engine/test/ranks/errors.mjs';
import { collectGarbage } from '../../../../native/engine/test/ranks/this-process.mjs';

const algorithm = directAlgorithm();
const jobKey = TcpStoreServer.newKey();

const sum = { kind: 'all-reduce', op: 'sum' };
const pageBytes = 64 << 10;
// Announced with the call, and in memory of one block, of some, and of many slices.
const sizes = [64, 4 << 10, pageBytes, 4 << 20];

const plain = (bytes) => new ArrayBuffer(bytes);
const losses = {
  transfer: { memory: plain, lose: (buffer) => structuredClone(buffer, { transfer: [buffer] }) },
  // Newer than some versions of Node that this runs on.
  ...('transfer' in ArrayBuffer.prototype && {
    move: { memory: plain, lose: (buffer) => buffer.transfer() },
    cut: { memory: plain, lose: (buffer) => buffer.transfer(0) },
  }),
  shrink: {
    memory: (bytes) => new ArrayBuffer(bytes, { maxByteLength: bytes }),
    lose: (buffer) => buffer.resize(buffer.byteLength / 4),
  },
  grow: {
    memory(bytes) {
      const pages = Math.ceil(bytes / pageBytes);
      const memory = new WebAssembly.Memory({ initial: pages, maximum: pages + 1 });
      grown.set(memory.buffer, memory);
      return memory.buffer;
    },
    lose: (buffer) => grown.get(buffer).grow(1),
  },
};
const grown = new WeakMap();

let count = 0;
for (const transport of ['shared-memory', 'tcp']) {
  for (const bytes of sizes) {
    for (const name of Object.keys(losses)) {
      for (const isInPlace of [true, false]) {
        await loseAtOnce(transport, bytes, name, isInPlace);
        await loseMidway(transport, bytes, name, isInPlace);
      }
    }
  }
  await losesWhileHeld(transport);
  await takesWhatOneBeforeGives(transport);
}
console.log(`${count} buffers were taken away by ${Object.keys(losses).join(', ')}: errors name the rank`);

/** Two members of a group in this thread, which call `run`. */
async function openPair(transport) {
  const store = new MemoryStore();
  const open = (rank) => openProcessGroup({ store, jobKey, rank, size: 2, transport, heartbeatSeconds: 60 });
  const groups = await Promise.all([open(0), open(1)]);
  const communicators = groups.map((group) => group.communicator(algorithm));
  const close = () => Promise.all(groups.map((group) => group.close()));
  return { communicators, close };
}

/** Rank 0's memory is gone before the call gets on: that is a failure of the group. */
async function loseAtOnce(transport, bytes, name, isInPlace) {
  const when = `${transport}, ${bytes} bytes, ${name}, in place: ${isInPlace}, at once`;
  const { communicators, close } = await openPair(transport);
  const { call, lose, other } = callThatLoses(communicators[0], bytes, name, isInPlace);
  await lose();
  const error = await errorOf(() => communicators[1].run(sum, [other], [other]));
  expectError(await call, bufferLost(0), when);
  expectError(error, peerFailed(0), when);
  await close();
  count += 1;
}

/** Rank 0's memory is gone before rank 1 has come, but after its call was left to the group's thread. Rank 1 gets the result. */
async function loseMidway(transport, bytes, name, isInPlace) {
  const when = `${transport}, ${bytes} bytes, ${name}, in place: ${isInPlace}`;
  const { communicators, close } = await openPair(transport);
  const { call, lose, other } = callThatLoses(communicators[0], bytes, name, isInPlace);
  await leftToThread();
  await lose();
  await communicators[1].run(sum, [other], [other]);
  expectError(await call, bufferLost(0), when);
  assert.ok(
    other.data.every((element) => element === 2),
    when,
  );
  // The group goes on.
  const small = [0, 1].map(() => tensor(new Float32Array(10).fill(1)));
  await Promise.all(communicators.map((communicator, rank) => communicator.run(sum, [small[rank]], [small[rank]])));
  assert.ok(
    small.every(({ data }) => data.every((element) => element === 2)),
    when,
  );
  await close();
  count += 1;
}

/** A call of this rank, what takes its memory away, and the tensor of the other. */
function callThatLoses(communicator, bytes, name, isInPlace) {
  const [input, kept] = [losses[name].memory(bytes), plain(bytes)];
  const output = isInPlace ? input : losses[name].memory(bytes);
  for (const buffer of [input, kept]) ones(buffer, bytes).data.fill(1);
  const call = errorOf(() => communicator.run(sum, [ones(input, bytes)], [ones(output, bytes)]));
  const lose = () => {
    for (const buffer of new Set([output, input])) losses[name].lose(buffer);
    return collectGarbage();
  };
  return { call, lose, other: ones(kept, bytes) };
}

/**
 * Leaves this rank's calls to the group's thread. A program that waits for other ranks does so after a time that depends on how fast its
 * slices run, which a sanitizer slows down. One that blocks its event loop does so in the next turn.
 */
async function leftToThread() {
  const end = performance.now() + 50;
  while (performance.now() < end);
  for (let turn = 0; turn < 3; turn++) await pause(2);
}

/** A call that waits for the one before has not got its input yet: that is a failure of the group. */
async function losesWhileHeld(transport) {
  const { communicators, close } = await openPair(transport);
  const [first, second] = communicators;
  const [bytes, lost, kept] = [4 << 20, plain(4 << 20), plain(4 << 20)];
  const outputs = [plain(bytes), plain(bytes)].map((buffer) => ones(buffer, bytes));
  const calls = [
    errorOf(() => first.run(sum, [ones(lost, bytes)], [ones(lost, bytes)])),
    errorOf(() => first.run(sum, [ones(lost, bytes)], [outputs[0]])),
  ];
  await leftToThread();
  structuredClone(lost, { transfer: [lost] });
  await collectGarbage();
  await second.run(sum, [ones(kept, bytes)], [ones(kept, bytes)]);
  const error = await errorOf(() => second.run(sum, [ones(kept, bytes)], [outputs[1]]));
  for (const call of calls) expectError(await call, bufferLost(0), `${transport}, held`);
  expectError(error, peerFailed(0), `${transport}, held`);
  await close();
  count += 1;
}

/** Calls that are under way at the same time: each takes what the one before gives, as if it had been awaited. */
async function takesWhatOneBeforeGives(transport) {
  const { communicators, close } = await openPair(transport);
  const bytes = 1 << 20;
  const tensors = communicators.map(() => ones(plain(bytes), bytes));
  for (const { data } of tensors) data.fill(1);
  const running = communicators.flatMap((communicator, rank) => {
    const calls = Array.from({ length: 4 }, () => communicator.run(sum, [tensors[rank]], [tensors[rank]]));
    const other = ones(plain(bytes), bytes);
    return [...calls, communicator.run(sum, [tensors[rank]], [other]).then(() => tensors.push(other))];
  });
  await Promise.all(running);
  for (const [index, { data }] of tensors.entries()) {
    const expected = index < 2 ? 16 : 32;
    assert.ok(
      data.every((element) => element === expected),
      `${transport}: ${data[0]} is not ${expected}`,
    );
  }
  await close();
}

/** Of this length, even where the buffer is resized, or longer. */
function ones(buffer, bytes) {
  return tensor(new Float32Array(buffer, 0, bytes / 4));
}

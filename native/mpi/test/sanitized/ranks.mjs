// Ranks of a job on the double of an MPI library, with the addon that COLL_MPI_PATH names: calls, groups, messages, threads, failures and ends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { tensor } from '@coll/core';
import { MpiCommunicator, openMpiGroup } from '@coll/mpi';

const size = 3;
const options = { defaultTimeoutSeconds: 120 };
const program = fileURLToPath(import.meta.url);
const allReduce = { kind: 'all-reduce', op: 'sum' };

async function sums(group, length, rounds) {
  const all = await Promise.all(
    Array.from({ length: rounds }, (_, round) => group.allReduce('sum', new Float64Array(length).fill(round))),
  );
  for (const [round, sum] of all.entries()) assert.deepEqual(sum, new Float64Array(length).fill(size * round));
}

/** A thread that is ended in the middle of a call, in a group that the other ranks have as well. */
async function endedThread(name) {
  const worker = new Worker(program, { workerData: name });
  const isReady = once(worker, 'message');
  await isReady;
  await worker.terminate();
}

const inThread = {
  async idle() {
    await sums(await openMpiGroup(options), 100, 3);
  },
  /** A rank that makes no call: nobody waits for it any more once this thread has left the group. */
  async waiting() {
    const group = await openMpiGroup(options);
    void group.allReduce('sum', new Float32Array(1 << 16)).catch(() => undefined);
  },
};

/** What every rank does. */
const scenarios = {
  async calls() {
    const group = await openMpiGroup({ ...options, halfPrecision: 'float32' });
    const { rank } = group;
    for (const length of [0, 1, 513, 40_000]) await sums(group, length, 4);
    assert.deepEqual(await group.allGather(Int8Array.of(rank)), Int8Array.of(0, 1, 2));
    assert.deepEqual(await group.reduceScatter('max', Int16Array.of(rank, rank, rank)), Int16Array.of(2));
    await group.broadcast(2, new Uint8Array(1000));
    await group.barrier();
    for (const dtype of ['float16', 'bfloat16', 'bool', 'uint32', 'int64']) {
      const value = tensor([1, 0, 1], { dtype });
      await group.allReduce('max', value);
    }
    await group.close();
  },
  async blocking() {
    const communicator = await MpiCommunicator.open(options);
    for (const length of [1, 1000, 100_000]) {
      const buffers = [tensor(new Float32Array(length).fill(1))];
      for (let round = 1; round <= 3; round++) {
        communicator.runSync(allReduce, buffers, buffers);
        assert.equal(buffers[0].data.at(-1), size ** round);
      }
    }
    await communicator.close();
  },
  async partsAndMessages() {
    const group = await openMpiGroup(options);
    const { rank } = group;
    const part = await group.split(rank === 1 ? -1 : 0, -rank);
    assert.equal(part === undefined, rank === 1);
    if (part) {
      assert.deepEqual(await part.allReduce('sum', Float32Array.of(rank)), Float32Array.of(2));
      await part.close();
    }
    const next = (rank + 1) % size;
    const sent = Array.from({ length: 5 }, (_, number) => group.send(next, new Float32Array(1000).fill(number)));
    for (let number = 0; number < 5; number++) {
      const received = new Float32Array(1000);
      await group.receive((rank + size - 1) % size, received);
      assert.equal(received[999], number);
    }
    await Promise.all(sent);
    await group.close();
  },
  async disagreement() {
    const group = await openMpiGroup(options);
    const call = group.allReduce('sum', new Float32Array(group.rank === 2 ? 3 : 2));
    await assert.rejects(call, { code: 'ERR_COLL_SHAPE_MISMATCH' });
    await assert.rejects(group.allReduce('sum', new Float32Array(2)), { code: 'ERR_COLL_SHAPE_MISMATCH' });
  },
  async lateRank() {
    const group = await openMpiGroup(options);
    if (group.rank === 2) await new Promise((resolve) => setTimeout(resolve, 3000));
    const call = group.allReduce('sum', new Float32Array(2), { timeoutSeconds: group.rank === 2 ? 120 : 0.5 });
    await assert.rejects(call, { code: 'ERR_COLL_DEADLINE' });
  },
  async threads() {
    const group = await openMpiGroup(options);
    for (const name of ['idle', 'waiting', 'idle']) await endedThread(name);
    await sums(group, 10, 2);
    await group.close();
  },
  /** Nothing is closed, and the process ends by itself. */
  async nothingClosed() {
    await sums(await openMpiGroup(options), 10, 2);
  },
  async exitWhileWaiting() {
    const group = await openMpiGroup(options);
    // A rank may hear that another one has left before it sees that this call has ended.
    await sums(group, 10, 1).catch(({ code }) => assert.equal(code, 'ERR_COLL_CLOSED'));
    void group.allReduce('sum', new Float32Array(1 << 18)).catch(() => undefined);
    process.exit(0);
  },
};

if (!isMainThread) {
  await inThread[workerData]();
  parentPort.postMessage('ready');
} else if (process.argv[2]) {
  await scenarios[process.argv[2]]();
} else {
  const library = path.join(path.dirname(process.env.COLL_MPI_PATH), 'libcoll-double-mpi.so');
  for (const name of Object.keys(scenarios)) {
    const folder = mkdtempSync(path.join(tmpdir(), 'coll-double-mpi-'));
    const ranks = Array.from({ length: size }, (_, rank) => {
      const place = { PMI_RANK: `${rank}`, PMI_SIZE: `${size}`, COLL_DOUBLE_FOLDER: folder, COLL_MPI_LIB: library };
      const env = { ...process.env, ...place };
      return once(spawn(process.execPath, [program, name], { env, stdio: 'inherit' }), 'exit');
    });
    const ends = await Promise.all(ranks);
    rmSync(folder, { recursive: true });
    assert.deepEqual(ends, Array(size).fill([0, null]), name);
  }
  console.log(`${Object.keys(scenarios).length} jobs of ${size} ranks ended as they should`);
}

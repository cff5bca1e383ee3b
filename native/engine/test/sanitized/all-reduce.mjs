// Two threads and one controller, waiting in both ways; what the sanitizers should see.
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { tensor } from '@coll/core';
import { directAlgorithm as algorithm } from '@coll/direct';
import { native } from '@coll/native';

const collective = { kind: 'all-reduce', op: 'sum' };
const lengths = [0, 1, 7, 1000, 100_003];
const rounds = 20;

if (isMainThread) {
  await ofController(native.communicator(3, algorithm));
  const group = native.createGroup({ size: 2 });
  await Promise.all([0, 1].map((rank) => ended(new Worker(new URL(import.meta.url), { workerData: { group, rank } }))));
} else {
  const { group, rank } = workerData;
  await ofMember(native.join(group, { rank, algorithm }), rank);
}

async function ofController(communicator) {
  for (const length of lengths) {
    const buffers = [1, 2, 3].map((value) => tensor(new Float32Array(length).fill(value)));
    await communicator.run(collective, buffers, buffers);
    for (const { data } of buffers) expectAll(data, 6);
  }
  await communicator.close();
}

async function ofMember(communicator, rank) {
  for (let round = 0; round < rounds; round++) {
    for (const length of lengths) {
      const buffers = [tensor(new Float32Array(length).fill(rank + 1))];
      if (round % 2 === 0) communicator.runSync(collective, buffers, buffers);
      else await communicator.run(collective, buffers, buffers);
      expectAll(buffers[0].data, 3);
    }
  }
  await communicator.close();
}

function expectAll(data, value) {
  const wrong = data.findIndex((element) => element !== value);
  if (wrong >= 0) throw new Error(`element ${wrong} of ${data.length} is ${data[wrong]}, not ${value}`);
}

function ended(worker) {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a thread ended with ${code}`))));
  });
}

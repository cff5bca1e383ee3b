// Two members whose connections are encrypted, although they are on one host: all threads of the engine use the streams of TLS.
import assert from 'node:assert/strict';
import { tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { openProcessGroup } from '@coll/processes';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { errorOf, expectError, peerClosed } from '../../../../native/engine/test/ranks/errors.mjs';

const sum = { kind: 'all-reduce', op: 'sum' };
// Less than a record of TLS, some, and more than a socket takes at once.
const lengths = [1, 5000, 20_000, 1_000_000];
const rounds = 3;

for (let opened = 0; opened < rounds; opened++) {
  const store = new MemoryStore();
  const jobKey = TcpStoreServer.newKey();
  const open = (rank) =>
    openProcessGroup({
      store,
      jobKey,
      rank,
      size: 2,
      transport: 'tcp',
      encrypt: 'always',
      heartbeatSeconds: 60,
    });
  const groups = await Promise.all([open(0), open(1)]);
  const communicators = groups.map((group) => group.communicator(directAlgorithm()));
  for (const length of lengths) {
    for (let round = 0; round < rounds; round++) {
      const tensors = groups.map(() => tensor(new Float32Array(length).fill(1)));
      await Promise.all(
        communicators.map((communicator, rank) => communicator.run(sum, [tensors[rank]], [tensors[rank]])),
      );
      for (const { data } of tensors) assert.ok(data.every((element) => element === 2));
    }
  }
  // A member that ends while the other one waits for it.
  const alone = tensor(new Float32Array(lengths[1]));
  const waiting = errorOf(() => communicators[0].run(sum, [alone], [alone]));
  await groups[1].close();
  expectError(await waiting, peerClosed(1), 'the other member ends');
  await groups[0].close();
}
console.log(`${rounds} groups of encrypted connections gave the right sums`);

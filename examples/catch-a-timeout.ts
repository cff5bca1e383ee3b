// A collective that fails because one replica does not arrive in time.
import '@coll/direct/register';
import { setTimeout } from 'node:timers/promises';
import { CommunicationOptions, DeadlineExceededError } from '@coll/core';
import { MirroredStrategy, type ReplicaContext } from '@coll/strategy';

const options = new CommunicationOptions({ timeoutSeconds: 0.1 });
await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });

async function addUp(replica: ReplicaContext) {
  // Replica 1 does other work until long after the deadline.
  if (replica.replicaIdInSyncGroup === 1) await setTimeout(60_000, undefined, { ref: false });
  return replica.allReduce('sum', Float32Array.of(1, 2), options);
}

try {
  await strategy.run(addUp);
} catch (error) {
  if (!(error instanceof DeadlineExceededError)) throw error;
  console.log(`gave up: ${error.message}`);
}

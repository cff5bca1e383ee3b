// Trains on GPUs with NCCL, or on the CPU if there is no GPU. One process uses all GPUs, or two processes use half of them each:
//
//   npx tsx examples/gpus.ts
//   npx coll run -n 2 examples/gpus.ts
import '@coll/nccl/register';
import { tensor } from '@coll/core';
import { type Gpu, gpus, probe, toHost } from '@coll/nccl';
import { MultiWorkerMirroredStrategy, type ReplicaContext, variable } from '@coll/strategy';

const { COLL_RANK: rank = '0', COLL_SIZE: size = '1' } = process.env;
const { available, reason } = probe();
const all: readonly Gpu[] = available ? gpus() : [];
const mine = all.filter(({ index }) => index % Number(size) === Number(rank));
const devices = all.length > 0 ? mine.map(({ name }) => name) : ['cpu:0'];

await using strategy = new MultiWorkerMirroredStrategy({ devices });
await strategy.ready();
const weights = strategy.scope(() => variable(new Float32Array(4)));

/** Each replica has its own target. The program learns the mean of all targets. */
async function trainStep(replica: ReplicaContext): Promise<void> {
  const target = replica.replicaIdInSyncGroup + 1;
  const gradient = weights.read().data.map((weight) => 0.5 * (weight - target));
  const gpu = mine.find(({ name }) => replica.devices[0].endsWith(name.toUpperCase()));
  if (!gpu) {
    await weights.assignSub(await replica.allReduce('mean', tensor(gradient)));
    return;
  }
  // Gradients in GPU memory remain there, and the result overwrites them.
  using onGpu = await gpu.upload(gradient, 'float32');
  await weights.assignSub(await toHost(await replica.allReduce('mean', onGpu, { into: onGpu })));
}

for (let step = 0; step < 30; step++) await strategy.run(trainStep);

if (rank === '0') {
  const notes = (await strategy.explain()).notes.filter((note) => /nccl/i.test(note));
  console.log(`learned ${weights.read().data[0]?.toFixed(3)} on ${strategy.numReplicasInSync} replicas`);
  console.log(available ? notes.join('\n') : `no GPU: ${reason}`);
}

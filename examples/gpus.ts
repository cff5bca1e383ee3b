// Training on GPUs by NCCL, or on the CPU where there are none. All GPUs in one process, or a share of them in each of two:
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

/** Each replica has a target of its own: the mean of all is learned. */
async function trainStep(replica: ReplicaContext): Promise<void> {
  const target = replica.replicaIdInSyncGroup + 1;
  const gradient = weights.read().data.map((weight) => 0.5 * (weight - target));
  const gpu = mine.find(({ name }) => replica.devices[0].endsWith(name.toUpperCase()));
  if (!gpu) {
    await weights.assignSub(await replica.allReduce('mean', tensor(gradient)));
    return;
  }
  // Gradients that a kernel has left in the memory of the GPU stay there; the result is written in their place.
  using onGpu = await gpu.upload(gradient, 'float32');
  await weights.assignSub(await toHost(await replica.allReduce('mean', onGpu, { into: onGpu })));
}

for (let step = 0; step < 30; step++) await strategy.run(trainStep);

if (rank === '0') {
  const notes = (await strategy.explain()).notes.filter((note) => /nccl/i.test(note));
  console.log(`learned ${weights.read().data[0]?.toFixed(3)} on ${strategy.numReplicasInSync} replicas`);
  console.log(available ? notes.join('\n') : `no GPU: ${reason}`);
}

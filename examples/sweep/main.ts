// Tries 101 learning rates on all cores, and prints the best one.
import { availableParallelism } from 'node:os';
import { MirroredStrategy } from '@coll/strategy';

const [threads = availableParallelism()] = process.argv.slice(2).map(Number);
const rates = Float64Array.from({ length: 101 }, (_, index) => index / 50);

await using strategy = new MirroredStrategy({ devices: Array.from({ length: threads }, (_, index) => `cpu:${index}`) });
// Each replica gets a part of the rates. The parts may have different lengths.
const parts = strategy.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup: id, numReplicasInSync }) =>
  rates.slice(
    Math.floor((id * rates.length) / numReplicasInSync),
    Math.floor(((id + 1) * rates.length) / numReplicasInSync),
  ),
);
const losses = await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url), {
  args: [parts],
});
const { data } = await strategy.gather(losses, 0); // in the order of the replicas, which is that of the rates
const best = data.indexOf(Math.min(...data));
console.log(`rate ${rates[best]}: loss ${data[best]?.toExponential(1)}`);

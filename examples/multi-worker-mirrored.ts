// Trains on several workers, which are processes. Each worker processes its share of every batch. Run it with:
//
//   npx coll run -n 2 examples/multi-worker-mirrored.ts
import { tensor, toNumbers } from '@coll/core';
import { MultiWorkerMirroredStrategy, type ReplicaContext, variable } from '@coll/strategy';

await using strategy = new MultiWorkerMirroredStrategy();
await strategy.ready();

// All workers start with the values of worker 0. Each change is the mean of the changes of all replicas.
const options = { name: 'weights', aggregation: 'mean', dtype: 'float32' } as const;
const weights = strategy.scope(() => variable([0, 0], options));

async function trainStep(_: ReplicaContext, xs: Float32Array): Promise<void> {
  const [slope = 0, offset = 0] = toNumbers(weights.read());
  const errors = Array.from(xs, (x) => slope * x + offset - (3 * x + 1));
  const gradient = [errors.map((error, index) => error * (xs[index] as number)), errors].map(meanOf);
  await weights.assignSub(tensor(Float32Array.from(gradient, (part) => 0.2 * part)));
}

// If there are more workers than samples, some shares are empty.
const meanOf = (numbers: readonly number[]) =>
  numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);

// Every worker reads the same batches, and gets its share of each.
const batches = Array.from({ length: 200 }, () => Float32Array.of(0, 1, 2, 3));
for await (const step of strategy.experimentalDistributeDataset(batches))
  await strategy.run(trainStep, { args: [step] });

const [slope = 0, offset = 0] = toNumbers(weights.read());
const learned = `y = ${slope.toFixed(2)} x + ${offset.toFixed(2)}, learned by ${strategy.numReplicasInSync} replicas`;
if (strategy.extended.shouldCheckpoint) console.log(learned);

// Splits every batch of a dataset among replicas: first in the program that runs them, then in each replica by itself.
import '@coll/direct/register';
import { type Tensor, tensor } from '@coll/core';
import { MirroredStrategy, type ReplicaContext, shardForReplica } from '@coll/strategy';

interface Sample {
  readonly x: Tensor<'float32'>;
  readonly label: readonly string[];
}

/** Ten samples of two numbers, in batches of four: the last one is a partial one. */
async function* batches(): AsyncGenerator<Sample> {
  for (let at = 0; at < 10; at += 4) {
    const items = Array.from({ length: Math.min(4, 10 - at) }, (_, index) => at + index);
    yield {
      x: tensor(Float32Array.from(items.flatMap((item) => [item, item * item])), { shape: [items.length, 2] }),
      label: items.map((item) => (item % 2 === 0 ? 'even' : 'odd')),
    };
  }
}

await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1', 'cpu:2'] });

// A function, and not what it returns: it is called for each epoch.
for await (const { x, label } of strategy.experimentalDistributeDataset(batches)) {
  const values = await strategy.run(squares, { args: [x] });
  // A mean along the first axis weighs every sample alike, however many a replica has.
  const mean = await strategy.reduce('mean', values, 0);
  const labels = label.values.map((part) => part.join(' ') || 'none');
  console.log(`${labels.join(' | ')}, mean ${mean.data[0]}`);
}

const counts = await strategy.run(async (replica) => {
  let samples = 0;
  for await (const { x } of shardForReplica(batches, replica)) samples += x.shape[0] ?? 0;
  return samples;
});
console.log(`samples of each replica: ${strategy.experimentalLocalResults(counts).join(', ')}`);

/** One number a sample: its second one, which is the square of the first. */
async function squares(_replica: ReplicaContext, x: Tensor<'float32'>): Promise<Float32Array> {
  return x.data.filter((_, index) => index % 2 === 1);
}

// Splits every batch of a dataset between replicas, first in the main program, then in each replica.
import '@coll/direct/register';
import { type Tensor, tensor } from '@coll/core';
import { MirroredStrategy, type ReplicaContext, shardForReplica } from '@coll/strategy';

interface Sample {
  readonly x: Tensor<'float32'>;
  readonly label: readonly string[];
}

/** Ten samples of two numbers, in batches of four. The last batch is partial. */
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

// Pass the function itself, because the strategy calls it in every epoch.
for await (const { x, label } of strategy.experimentalDistributeDataset(batches)) {
  const values = await strategy.run(squares, { args: [x] });
  // A mean along the first axis gives every sample the same weight, even if replicas have different numbers of samples.
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

/** Returns one number per sample: the second number, which is the square of the first. */
async function squares(_replica: ReplicaContext, x: Tensor<'float32'>): Promise<Float32Array> {
  return x.data.filter((_, index) => index % 2 === 1);
}

// Fits a line on two replicas. The weights are equal on both replicas, and each replica counts its samples.
import { tensor, toNumbers } from '@coll/core';
import { MirroredStrategy, variable } from '@coll/strategy';

const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });

const { weights, seen } = strategy.scope(() => ({
  weights: variable([0, 0], { name: 'weights', dtype: 'float32', aggregation: 'mean' }),
  seen: variable(0, { name: 'seen', synchronization: 'on_read', aggregation: 'sum' }),
}));

await strategy.run(async ({ replicaIdInSyncGroup: id }) => {
  // Points of y = 2x + 1. The points of the two replicas alternate.
  const xs = [0, 0.5, 1, 1.5].map((x) => x + id / 4);
  for (let step = 0; step < 200; step++) {
    const [slope = 0, offset = 0] = toNumbers(weights.read());
    const errors = xs.map((x) => slope * x + offset - (2 * x + 1));
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const gradient = [mean(errors.map((error, index) => error * (xs[index] as number))), mean(errors)];
    // The mean over both replicas is subtracted from both copies.
    await weights.assignSub(tensor(gradient, { dtype: 'float32' }));
    await seen.assignAdd(xs.length);
  }
});

console.log(
  `y = ${toNumbers(weights.read())
    .map((weight) => weight.toFixed(2))
    .join(' x + ')}`,
);
for (const component of strategy.experimentalLocalResults(weights)) console.log(String(component));
console.log(`${seen.read().data[0]} samples seen`);

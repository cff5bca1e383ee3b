// Fits a line to points with one run per step, in one worker thread per replica. `coll run -n 2 examples/steps/main.ts` trains on two
// workers. The threads and the state of their modules persist between steps.
import { tensor } from '@coll/core';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';

const epochs = 60;
const samples = 64;
const batchSize = 16;

/** Points of y = 2 x + 1. */
async function* batches() {
  for (let at = 0; at < samples; at += batchSize) {
    const xs = Float32Array.from({ length: batchSize }, (_, index) => (at + index) / samples);
    yield { xs: tensor(xs), ys: tensor(xs.map((x) => 2 * x + 1)) };
  }
}

await using strategy = new MultiWorkerMirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
await strategy.ready();
const replica = new URL('./replica.ts', import.meta.url);
for (let epoch = 1; epoch <= epochs; epoch++) {
  let loss = 0;
  for await (const batch of strategy.experimentalDistributeDataset(batches)) {
    const losses = await strategy.run<typeof import('./replica.ts')>(replica, { args: [batch] });
    loss += Number((await strategy.reduce('sum', losses, null)).data[0]) / samples;
  }
  if (epoch % 30 === 0 && strategy.extended.shouldSaveSummary) console.log(`epoch ${epoch}: loss ${loss.toFixed(5)}`);
}
const learned = await strategy.run<typeof import('./replica.ts'), 'weights'>(replica, { exportName: 'weights' });
const [own] = strategy.experimentalLocalResults(learned);
if (strategy.extended.shouldSaveSummary) console.log(`y = ${own?.map((weight) => weight.toFixed(2)).join(' x + ')}`);

// Searches for a network that swings up a pole on a cart, with one thread per core, then with one thread. Run it with:
//
//   npx tsx examples/evolution/main.ts 2               # two threads
//   npx coll run -n 2 examples/evolution/main.ts 1     # two processes with one thread each
import { availableParallelism } from 'node:os';
import { MirroredStrategy, MultiWorkerMirroredStrategy, type Strategy } from '@coll/strategy';
import type { Search } from './replica.ts';

const [threads = availableParallelism(), seed = 1, mostGenerations = 300] = process.argv.slice(2).map(Number);

async function search(strategy: Strategy): Promise<readonly Search[]> {
  const results = await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url), {
    args: [seed, mostGenerations],
  });
  return strategy.experimentalLocalResults(results);
}

function summarize(all: Search, alone: Search): void {
  const { generations, evaluations, evaluating, seconds, standing } = all;
  console.log(`after ${generations} generations, the pole stands for ${standing.toFixed(1)} of 7 seconds`);
  const microseconds = (1e6 * evaluating.reduce((sum, each) => sum + each, 0)) / evaluations;
  console.log(`an evaluation takes ${microseconds.toFixed(1)} µs`);
  for (const [replica, each] of evaluating.entries())
    console.log(`replica ${replica} spends ${((100 * each) / seconds).toFixed(0)} % of its time in evaluations`);
  const isSame = alone.weights.every((weight, index) => weight === all.weights[index]);
  const speedup = (alone.seconds / seconds).toFixed(2);
  console.log(`one replica takes ${speedup} times as long, for ${isSame ? 'the same' : 'another'} network`);
}

await using strategy = new MultiWorkerMirroredStrategy({
  devices: Array.from({ length: threads }, (_, index) => `cpu:${index}`),
});
const [all] = await search(strategy);
if (strategy.extended.shouldSaveSummary) {
  await using single = new MirroredStrategy({ devices: ['cpu:0'] });
  const [alone] = await search(single);
  if (all && alone) summarize(all, alone);
}

// `npx tsx main.ts checkpoints 40` trains for at most 40 epochs. Started again, it continues.
import '@coll/direct/register';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';

const [folder = 'checkpoints', epochs = '40'] = process.argv.slice(2);
await using strategy = new MultiWorkerMirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const done = await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url), {
  args: [folder, Number(epochs)],
});
if (strategy.extended.shouldSaveSummary)
  console.log(`${strategy.experimentalLocalResults(done)[0]} epochs are complete`);

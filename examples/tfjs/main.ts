// Trains on two cores, with one thread per replica. `npx coll run -n 2 examples/tfjs/main.ts` trains on four cores, in two processes.
import '@coll/direct/register';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';

await using strategy = new MultiWorkerMirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const script = new URL('./replica.ts', import.meta.url);
const accuracies = await strategy.run<typeof import('./replica.ts')>(script);
const [accuracy = 0] = strategy.experimentalLocalResults(accuracies);
if (strategy.extended.shouldSaveSummary) console.log(`accuracy ${accuracy.toFixed(2)}`);

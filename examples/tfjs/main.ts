// Trains on two cores, with one thread per replica. `npx coll run -n 2 examples/tfjs/main.ts` trains on four cores, in two processes.
import '@coll/direct/register';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';

const [folder = 'model'] = process.argv.slice(2);
await using strategy = new MultiWorkerMirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url), { args: [folder] });

// Trains on two cores, with one thread per replica. `npx coll run -n 2 examples/jax-js/main.ts` trains on four cores, in two processes.
import '@coll/direct/register';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';

await using strategy = new MultiWorkerMirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url));

// Two replicas on each of two workers sum their values, which are compressed between the workers. Run it with:
//
//   npx coll run -n 2 examples/compress-between-hosts/main.ts
import type { Tensor } from '@coll/core';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';
import { bfloat16 } from './bfloat16.js';

await using strategy = new MultiWorkerMirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: bfloat16 });
const here = await strategy.run((replica) => replica.allReduce('sum', Float32Array.of(1, 1 / 3, 257)));
const there = await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url));
const [first, second] = [here, there].map((sums) => strategy.experimentalLocalResults(sums)[0] as Tensor);
console.log('one thread per worker:', first?.data.join(', '));
console.log('a thread per replica:', second?.data.join(', '));

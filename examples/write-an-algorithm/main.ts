// Proves, draws and registers the algorithm of tree.ts, then uses it by name: in this thread, and with one thread per replica.
import { registry, type Tensor } from '@coll/core';
import { cost, draw, verify } from '@coll/core/schedule';
import { MirroredStrategy } from '@coll/strategy';
import { tree, treeAlgorithm } from './tree.js';

const allReduce = { kind: 'all-reduce', op: 'sum' } as const;
const schedule = treeAlgorithm.plan(allReduce, 4);
verify(schedule, allReduce);
console.log(draw(schedule));
const { rounds, seconds } = cost(schedule, {
  kind: 'all-reduce',
  bytes: 2 ** 20,
  alpha: 1e-5,
  beta: 1e-9,
  gamma: 1e-10,
});
console.log(`${rounds} rounds, about ${(seconds * 1e3).toFixed(1)} ms for 1 MiB at 10 microseconds and 1 GB/s`);

registry.register(tree);
await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1', 'cpu:2', 'cpu:3'], crossDeviceOps: 'tree' });
const here = await strategy.run((replica) =>
  replica.allReduce('sum', new Float32Array([replica.replicaIdInSyncGroup])),
);
console.log('in one thread:', strategy.experimentalLocalResults(here).map(toText).join(', '));
const there = await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url));
console.log('in four threads:', strategy.experimentalLocalResults(there).map(toText).join(', '));

function toText({ data }: Tensor): string {
  return String(data[0]);
}

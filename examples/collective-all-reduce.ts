// Computes the mean over the devices of several processes. Run it with:
//
//   npx coll run -n 2 examples/collective-all-reduce.ts
import { Mirrored, PerReplica, ReduceOp, tensor } from '@coll/core';
import { CollectiveAllReduce } from '@coll/multi-worker';
import { openProcessGroup } from '@coll/processes';

await using group = await openProcessGroup();
const devices = ['cpu:0', 'cpu:1'];
await using ops = new CollectiveAllReduce(devices, devices.length * group.size, { group });

// Each process has the components of its own devices.
const value = new PerReplica(
  devices.map((device, index) => tensor(Float32Array.of(group.rank * devices.length + index, 1), { device })),
);
const mean = await ops.reduce(ReduceOp.MEAN, value, value);
for (const { device, data } of mean instanceof Mirrored ? mean.values : [mean])
  console.log(`${device} of process ${group.rank}: ${data.join(' ')}`);

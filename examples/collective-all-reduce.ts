// The mean over the devices of several processes. Run it with:
//
//   npx coll run -n 2 examples/collective-all-reduce.ts
import { type Mirrored, PerReplica, ReduceOp, type Tensor, tensor } from '@coll/core';
import { CollectiveAllReduce } from '@coll/multi-worker';
import { openProcessGroup } from '@coll/processes';

await using group = await openProcessGroup();
const devices = ['cpu:0', 'cpu:1'];
await using ops = new CollectiveAllReduce(devices, devices.length * group.size, { group });

// Each process has the components of its own devices.
const value = new PerReplica(
  devices.map((device, index) => tensor(Float32Array.of(group.rank * devices.length + index, 1), { device })),
);
const { values } = (await ops.reduce(ReduceOp.MEAN, value, value)) as Mirrored<Tensor>;
for (const { device, data } of values) console.log(`${device} of process ${group.rank}: ${data.join(' ')}`);

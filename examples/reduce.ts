// Adds up the values of two devices; both get the sum.
import { type Mirrored, PerReplica, ReduceOp, type Tensor, tensor } from '@coll/core';
import { RingAllReduce } from '@coll/ring';

const value = new PerReplica([
  tensor(new Float32Array([1, 2]), { device: 'cpu:0' }),
  tensor(new Float32Array([3, 4]), { device: 'cpu:1' }),
]);
const sum = (await new RingAllReduce().reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
for (const { device, data } of sum.values) console.log(device, data.join(' '));

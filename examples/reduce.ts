// Adds the values of two devices. Both devices get the sum.
import { Mirrored, PerReplica, ReduceOp, tensor } from '@coll/core';
import { RingAllReduce } from '@coll/ring';

const value = new PerReplica([
  tensor(new Float32Array([1, 2]), { device: 'cpu:0' }),
  tensor(new Float32Array([3, 4]), { device: 'cpu:1' }),
]);
const sum = await new RingAllReduce().reduce(ReduceOp.SUM, value, value);
for (const { device, data } of sum instanceof Mirrored ? sum.values : [sum]) console.log(device, data.join(' '));

import {
  CrossDeviceOps,
  type DistributedValues,
  definePlugin,
  type PossiblyMirrored,
  type ReduceOp,
  type Tensor,
  type Value,
} from '@coll/core';
import { combine, copyToDevice, mirror } from '@coll/core/plugin';

/** The devices of every reduction that was asked of a double. */
export const reducedBy: (readonly string[])[] = [];

/** Stands for NCCL in tests: all-reduces in plain JavaScript, and remembers among whom. */
class NcclDouble extends CrossDeviceOps {
  readonly name = 'nccl';

  protected override async reduceImplementation(
    op: ReduceOp,
    { values, devices }: DistributedValues<Value>,
  ): Promise<PossiblyMirrored> {
    reducedBy.push(devices);
    this.note('a double adds up');
    const total = combine(op.toLowerCase() as Lowercase<ReduceOp>, values as readonly Tensor[]);
    return mirror(devices.map((device) => copyToDevice(total, device)));
  }
}

export const ncclDouble = definePlugin({
  name: 'nccl',
  module: import.meta.url,
  create: () => new NcclDouble(),
});

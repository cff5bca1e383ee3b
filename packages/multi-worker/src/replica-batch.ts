import {
  type CallFields,
  type CrossDeviceOps,
  isIndexedSlices,
  PerReplica,
  type ReduceOp,
  type ReplicaValue,
  type Structure,
  type TensorLike,
  type Value,
} from '@coll/core';
import { asValue, flatten, packLike } from '@coll/core/internal';
import { viewOnDevice } from '@coll/core/plugin';

/** The `allReduce` of a replica, on its device, by ops that know batches only. The result has the structure of `value`. */
export async function allReduceAsBatch(
  ops: CrossDeviceOps,
  op: ReduceOp,
  value: ReplicaValue,
  device: string,
  { into, ...call }: CallFields & { readonly into?: ReplicaValue | undefined },
): Promise<Structure<Value>> {
  const pairs = flatten(value).map((leaf) => {
    const component = new PerReplica([viewOnDevice(asValue(leaf), device)]);
    return [component, component] as const;
  });
  const targets =
    into === undefined
      ? {}
      : {
          into: targetsOf(
            pairs.map(([component]) => component),
            flatten(into),
          ),
        };
  return packLike(value, (await ops.batchReduce(op, pairs, { ...call, ...targets })) as Value[]);
}

/** Memory for dense results only, as it was named. */
function targetsOf(values: readonly PerReplica<Value>[], into: readonly unknown[]): (TensorLike | undefined)[] {
  const named = [...into] as TensorLike[];
  return values.map((value) => (isIndexedSlices(value) ? undefined : named.shift()));
}

import {
  asTensor,
  IndexedSlices,
  type ReduceOp,
  type Structure,
  type Tensor,
  type TensorLike,
  type Value,
} from '@coll/core';
import { flatten, resultsFor } from '@coll/core/internal';
import { viewOnDevice } from '@coll/core/plugin';

/**
 * Where dense results go: the memory of `into`, one tensor a dense value and on its device.
 * @throws ValueError where they are not as many, of other shapes, of other dtypes than the results, or share memory
 */
export function resultMemory(
  into: Structure<TensorLike> | undefined,
  values: readonly Value[],
  op?: ReduceOp,
): readonly Tensor[] | undefined {
  if (into === undefined) return undefined;
  const targets = flatten(into).map((leaf) => asTensor(leaf, 'into'));
  const dense = values.filter((value) => !(value instanceof IndexedSlices)) as Tensor[];
  const memory = resultsFor(op && (op.toLowerCase() as Lowercase<ReduceOp>), dense, targets);
  return memory.map((target, index) => viewOnDevice(target, (dense[index] as Tensor).device));
}

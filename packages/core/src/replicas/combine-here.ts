import { collectiveOp } from '../collectives/collective.js';
import type { ReduceOp } from '../collectives/reduce-op.js';
import { combineAlike, combineInto } from '../kernels/arithmetic.js';
import { requireLikeValues } from '../sparse/like-values.js';
import { viewOnDevice } from '../sparse/sparse.js';
import { copyTo, type Tensor } from '../values/tensor.js';
import type { DenseBatch, ValueLists } from './batch.js';
import { filled } from './results.js';

/**
 * Whether a batch of local replicas can be all-reduced into its final memory: its values are on the
 * host, and results can be written before all values are read.
 */
export function isDirect(batch: DenseBatch): boolean {
  return batch.inputs.every((values) => values.every(({ memory }) => !memory)) && areApart(batch);
}

/**
 * All-reduces values of local replicas in replica order, in this thread, each result straight into
 * its final memory.
 * @throws InvalidArgumentError if shapes differ; InternalError if dtypes differ
 */
export function combineHere({ request, inputs, into = [] }: DenseBatch, isShared = false): ValueLists {
  const values = (inputs[0] as readonly Tensor[]).map((_, index) => inputs.map((list) => list[index] as Tensor));
  for (const tensors of values) requireLikeValues(tensors);
  const results = values.map((tensors, index) => {
    const targets = into.map((memory) => memory?.[index]);
    const devices = tensors.map(({ device }) => device);
    return combineOnDevices(request.op, tensors, devices, targets, isShared);
  });
  return inputs.map((_, index) => results.map((components) => components[index] as Tensor));
}

/**
 * Combines alike tensors in order: one result per device, in the device's target memory or in new
 * memory. The first target may be memory of the first two tensors, but not of any other.
 */
export function combineOnDevices(
  op: ReduceOp,
  tensors: readonly Tensor[],
  devices: readonly string[],
  targets: readonly (Tensor | undefined)[],
  isShared: boolean,
): readonly Tensor[] {
  const [target] = targets;
  const name = collectiveOp(op);
  if (target) combineInto(name, tensors, target.data);
  const first = target ?? combineAlike(name, tensors);
  return devices.map((device, index) => {
    const own = targets[index];
    if (own) return viewOnDevice(own === first ? own : filled(own, first), device);
    return index === 0 || isShared ? viewOnDevice(first, device) : copyTo(first, device);
  });
}

/** Whether each target is alone in its buffer, or shares the buffer only with the value that it replaces. */
function areApart({ inputs, into = [] }: DenseBatch): boolean {
  if (into.length === 0) return true;
  const uses = new Map<ArrayBufferLike, number>();
  for (const list of [...inputs, ...into]) {
    for (const { data } of list ?? []) uses.set(data.buffer, (uses.get(data.buffer) ?? 0) + 1);
  }
  return into.every((targets, rank) =>
    (targets ?? []).every(({ data, memory }, index) => {
      const value = inputs[rank]?.[index]?.data;
      const isInPlace = value?.buffer === data.buffer && value.byteOffset === data.byteOffset;
      return !memory && uses.get(data.buffer) === (isInPlace ? 2 : 1);
    }),
  );
}

import { type Collective, collectiveOp } from '../collectives/collective.js';
import type { ReduceOp } from '../collectives/reduce-op.js';
import type { PackRunner } from '../packing/pack-runner.js';
import type { RoutedBatches, RoutedPack } from '../packing/routes.js';
import type { Batch } from '../replicas/batch.js';
import { resultsFor } from '../replicas/results.js';
import type { ResolvedOptions } from '../runtime/call-options.js';
import type { Communicator } from '../runtime/communicator.js';
import type { Work } from '../runtime/drive.js';
import type { DistributedValues, PossiblyMirrored } from '../values/distributed-values.js';
import type { DType } from '../values/dtype.js';
import type { Value } from '../values/indexed-slices.js';
import { mirror } from '../values/regroup.js';
import type { Tensor } from '../values/tensor.js';

/** A group of ranks that are all local. */
export interface PackingGroup {
  readonly communicator: Communicator;
  readonly runner: PackRunner;
  readonly batches: RoutedBatches;
}

/** For each device, its dense values or their results. */
export type ValuesByDevice = readonly (readonly Tensor[])[];

/** The dense values of a batch, by device, and the packs that carry them. */
export interface PackedBatch {
  readonly collective: Extract<Collective, { kind: 'all-reduce' }>;
  readonly inputs: ValuesByDevice;
  readonly packs: readonly RoutedPack[];
  readonly group: PackingGroup;
}

/** Packs the dense values of a batch for an all-reduce. */
export function packedBatch(
  group: PackingGroup,
  op: ReduceOp,
  inputs: ValuesByDevice,
  { options }: ResolvedOptions,
): PackedBatch {
  const packs = group.batches.packsOf(inputs[0] as readonly Tensor[], options.bytesPerPack);
  return { collective: { kind: 'all-reduce', op: collectiveOp(op) }, inputs, packs, group };
}

/** All packs of a batch, which run concurrently. `into` is memory for the results of some devices. */
export function workOf(
  { collective, inputs, packs, group }: PackedBatch,
  call: ResolvedOptions,
  into: Batch['into'],
): Work<ValuesByDevice> {
  const outputs = resultsOf(collective, inputs, call, into);
  const { runs, separate } = group.runner.runsOf(
    collective,
    packs,
    [inputs, outputs],
    !call.targets && !into,
    call.names,
  );
  const finish = () => {
    separate();
    return outputs.map((results, rank) => onDeviceOf(inputs[rank] as readonly Tensor[], results));
  };
  const isRepeatable = !call.targets && into !== undefined && !into.includes(undefined);
  return { on: group.communicator, runs, finish, isRepeatable };
}

/** The reason why the communicator refuses a dtype or algorithm variant of the batch; undefined if it refuses none. */
export function refusalOf({ collective, inputs: [first = []], packs, group }: PackedBatch): string | undefined {
  let asked: { readonly variant: number; readonly dtype: DType } | undefined;
  for (const { variant, pieces } of packs) {
    const { dtype } = first[pieces[0]?.index ?? 0] as Tensor;
    if (variant === asked?.variant && dtype === asked.dtype) continue;
    asked = { variant, dtype };
    const refused = group.communicator.refuses({ ...collective, variant }, dtype);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

export function isWhollyDense(value: DistributedValues<Value>): value is DistributedValues<Tensor> {
  return value.values.every((component) => 'data' in component);
}

export function byDevice(values: readonly DistributedValues<Tensor>[]): ValuesByDevice {
  const devices = (values[0] as DistributedValues<Tensor>).values;
  return devices.map((_, device) => values.map((value) => value.values[device] as Tensor));
}

/** Views of the results on the devices of the values. */
function onDeviceOf(values: readonly Tensor[], results: readonly Tensor[]): readonly Tensor[] {
  return results.map((result, index) => {
    const { device } = values[index] as Tensor;
    return result.device === device ? result : { ...result, device };
  });
}

export function mirrored(results: ValuesByDevice, values: readonly DistributedValues<Tensor>[]): PossiblyMirrored[] {
  return values.map((_, index) => mirror(results.map((list) => list[index] as Tensor)));
}

/**
 * Memory for the results, by device: the caller's memory, new memory for each result, or one memory
 * shared by all devices.
 */
function resultsOf(
  collective: PackedBatch['collective'],
  inputs: ValuesByDevice,
  { targets, sharedResult }: ResolvedOptions,
  into?: Batch['into'],
): ValuesByDevice {
  if (targets) return inputs.map((_, device) => targets.map((tensors) => tensors?.[device] as Tensor));
  const make = (tensors: readonly Tensor[]) => resultsFor(collective.op, tensors, undefined);
  if (!sharedResult) return inputs.map((values, rank) => into?.[rank] ?? make(values));
  const shared = make(inputs[0] ?? []);
  return inputs.map(() => shared);
}

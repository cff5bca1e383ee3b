import { refuseClashes } from '../collectives/buffers.js';
import { type Collective, type CollectiveOp, collectiveOp } from '../collectives/collective.js';
import type { ReduceOp } from '../collectives/reduce-op.js';
import type { PackRunner } from '../packing/pack-runner.js';
import type { RoutedBatches, RoutedPack } from '../packing/routes.js';
import type { Batch } from '../replicas/batch.js';
import { resultsFor } from '../replicas/results.js';
import { canBeCopied, type SmallReduces } from '../replicas/small-reduces.js';
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
  readonly small: SmallReduces;
  /** The latest packs and op that the communicator does not refuse. */
  allowed?: { readonly packs: readonly RoutedPack[]; readonly op: CollectiveOp };
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
    return onDevices(inputs, outputs);
  };
  const isRepeatable = !call.targets && into !== undefined && !into.includes(undefined);
  return { on: group.communicator, runs, finish, isRepeatable };
}

/** The work of a batch with one small value per device, on a copy; undefined for any other batch. */
export function smallWorkOf(
  { collective, inputs, packs, group }: PackedBatch,
  call: ResolvedOptions,
  into: Batch['into'],
): Work<ValuesByDevice> | undefined {
  const { op } = collective;
  const values: Tensor[] = [];
  for (let rank = 0; rank < inputs.length; rank++) {
    const [value, ...others] = inputs[rank] as readonly [Tensor, ...Tensor[]];
    const result = call.targets ? call.targets[0]?.[rank] : into?.[rank]?.[0];
    if (others.length > 0 || !canBeCopied(op, value, result)) return undefined;
    values.push(value);
  }
  if (call.names) return undefined;
  const outputs = resultsOf(collective, inputs, call, into);
  const results: Tensor[] = [];
  for (const [result] of outputs) results.push(result as Tensor);
  // Memory in the options of `reduce` has been compared with all values.
  const { localRanks } = group.communicator;
  if (into) refuseClashes({ collective, localRanks, isShared: false }, values, results);
  const { bytesPerPack, timeoutSeconds, checkCalls } = call.options;
  const request = { op, form: '', purpose: undefined, announced: undefined, bytesPerPack, timeoutSeconds, checkCalls };
  const { on, runs, finish } = group.small.work(values, results, request, call, (copies) => {
    const lists = copies.map((copy) => [copy]);
    return group.runner.runsOf(collective, packs, [lists, lists], false, undefined).runs;
  });
  const finishAll = () => {
    finish();
    return onDevices(inputs, outputs);
  };
  return { on, runs, finish: finishAll };
}

/** The reason why the communicator refuses a dtype or algorithm variant of the batch; undefined if it refuses none. */
export function refusalOf({ collective, inputs: [first = []], packs, group }: PackedBatch): string | undefined {
  if (group.allowed?.packs === packs && group.allowed.op === collective.op) return undefined;
  let asked: { readonly variant: number; readonly dtype: DType } | undefined;
  for (const { variant, pieces } of packs) {
    const { dtype } = first[pieces[0]?.index ?? 0] as Tensor;
    if (variant === asked?.variant && dtype === asked.dtype) continue;
    asked = { variant, dtype };
    const refused = group.communicator.refuses({ ...collective, variant }, dtype);
    if (refused !== undefined) return refused;
  }
  group.allowed = { packs, op: collective.op };
  return undefined;
}

export function isWhollyDense(value: DistributedValues<Value>): value is DistributedValues<Tensor> {
  return value.values.every((component) => 'data' in component);
}

export function byDevice(values: readonly DistributedValues<Tensor>[]): ValuesByDevice {
  const devices = (values[0] as DistributedValues<Tensor>).values.length;
  const lists: Tensor[][] = [];
  for (let device = 0; device < devices; device++) {
    const list: Tensor[] = [];
    for (const value of values) list.push(value.values[device] as Tensor);
    lists.push(list);
  }
  return lists;
}

/** Views of the results on the devices of the values. */
function onDevices(inputs: ValuesByDevice, outputs: ValuesByDevice): ValuesByDevice {
  const lists: (readonly Tensor[])[] = [];
  for (let rank = 0; rank < outputs.length; rank++) {
    const [values, results] = [inputs[rank] as readonly Tensor[], outputs[rank] as readonly Tensor[]];
    const list: Tensor[] = [];
    let isSame = true;
    for (let index = 0; index < results.length; index++) {
      const result = results[index] as Tensor;
      const { device } = values[index] as Tensor;
      isSame &&= result.device === device;
      list.push(result.device === device ? result : { ...result, device });
    }
    lists.push(isSame ? results : list);
  }
  return lists;
}

export function mirrored(results: ValuesByDevice, values: readonly DistributedValues<Tensor>[]): PossiblyMirrored[] {
  const all: PossiblyMirrored[] = [];
  for (let index = 0; index < values.length; index++) {
    const components: Tensor[] = [];
    for (const list of results) components.push(list[index] as Tensor);
    all.push(mirror(components));
  }
  return all;
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
  const lists: (readonly Tensor[])[] = [];
  for (let rank = 0; rank < inputs.length; rank++) {
    if (targets) lists.push(componentsOf(targets, rank));
    else if (sharedResult && rank > 0) lists.push(lists[0] as readonly Tensor[]);
    else lists.push(into?.[rank] ?? resultsFor(collective.op, inputs[rank] as readonly Tensor[], undefined));
  }
  return lists;
}

function componentsOf(targets: readonly (readonly Tensor[] | undefined)[], rank: number): readonly Tensor[] {
  const components: Tensor[] = [];
  for (const tensors of targets) components.push(tensors?.[rank] as Tensor);
  return components;
}

import {
  type CollectiveOp,
  type CrossDeviceOps,
  type Destinations,
  DistributedValues,
  devicesMatch,
  deviceType,
  getDevicesFrom,
  mirror,
  outputDType,
  PerReplica,
  type PossiblyMirrored,
  type ReadyPair,
  type ReduceOp,
  type ResolvedOptions,
  type RunOptions,
  type Tensor,
  type Value,
} from '@coll/core';
import { DeviceBuffer, isOnGpu } from './device-buffer.js';
import { isKnown } from './element-types.js';
import type { GpuRanks } from './gpu-groups.js';
import { gpuIndex } from './gpu-memory.js';
import { isValueOnGpu, toGpus, toHost } from './host-values.js';
import { lengthOf } from './operands.js';
import type { Passage } from './passage.js';
import { reduceToOneGpu } from './reduction-on-gpu.js';

/** A value with its place in the batch. */
interface Placed {
  readonly pair: ReadyPair;
  readonly index: number;
}

/** Whether any component of a value is in the memory of a GPU. */
export function livesOnGpu({ values }: DistributedValues<Value>): boolean {
  return values.some(isValueOnGpu);
}

export interface GpuValuesOptions {
  readonly ranks: GpuRanks;
  /** Does on the host what no GPU does here. */
  readonly onHost: CrossDeviceOps;
  /** Whether all components of a value are here. */
  readonly isWhole: boolean;
  tell(why: string): void;
}

/** Reduces values with components in the memory of GPUs; results are there, too. */
export class GpuValues {
  readonly #options: GpuValuesOptions;

  constructor(options: GpuValuesOptions) {
    this.#options = options;
  }

  /** Results in the order of the pairs. All-reduces on the same GPUs are one group call. */
  async reduce(op: ReduceOp, pairs: readonly ReadyPair[], call: ResolvedOptions): Promise<PossiblyMirrored[]> {
    const results: PossiblyMirrored[] = new Array(pairs.length);
    const together = new Map<string, Placed[]>();
    const others: Placed[] = [];
    for (const [index, pair] of pairs.entries()) {
      if (!isAllReduce(pair)) others.push({ pair, index });
      else {
        const key = pair[0].devices.map(gpuIndex).join();
        together.set(key, [...(together.get(key) ?? []), { pair, index }]);
      }
    }
    for (const placed of together.values()) {
      const reduced = await this.#allReduce(op, placed, call);
      for (const [position, { index }] of placed.entries()) results[index] = reduced[position] as PossiblyMirrored;
    }
    for (const { pair, index } of others) results[index] = await this.#reduceOne(op, pair, call);
    return results;
  }

  /** Copies of a value on every destination. */
  async broadcast(value: Value, destinations: readonly string[]): Promise<PossiblyMirrored> {
    const copies = destinations.map((device) => (isGpu(device) ? copyOnGpu(value, device) : undefined));
    const onHost = copies.includes(undefined) ? await toHost(value) : value;
    if (!copies.includes(undefined)) return mirror(copies as Value[]);
    const left = destinations.filter((_, index) => copies[index] === undefined);
    const rest = await this.#options.onHost.broadcast(onHost, left);
    const made = [...(rest instanceof DistributedValues ? rest.values : [rest])];
    return mirror(copies.map((copy) => copy ?? (made.shift() as Value)));
  }

  /** Gathers on the host, and brings the result back. */
  async gather(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    this.#options.tell('a gather of values on GPUs goes by way of the host');
    const onHost = new PerReplica(await Promise.all(value.values.map((item) => toHost(item))));
    const gathered = await this.#options.onHost.gather(onHost, destinations, axis, callOf(call));
    return (await toGpus(gathered)) as PossiblyMirrored<Tensor>;
  }

  async #allReduce(op: ReduceOp, placed: readonly Placed[], call: ResolvedOptions): Promise<PossiblyMirrored[]> {
    const collective = { kind: 'all-reduce', op: op.toLowerCase() as CollectiveOp } as const;
    const [
      {
        pair: [sample],
      },
    ] = placed as [Placed];
    const group = await this.#options.ranks.of(sample.devices);
    const passages = placed.map(({ pair: [value], index }): Passage => {
      const inputs = value.values as readonly Tensor[];
      const outputs =
        call.targets?.[index] ?? inputs.map((input) => newOnGpu(input, outputDType(collective, input.dtype)));
      return { collective, inputs, outputs };
    });
    await group.runTogether(passages, runOptionsOf(call));
    return passages.map(({ outputs }) => mirror(outputs));
  }

  async #reduceOne(op: ReduceOp, [value, destinations]: ReadyPair, call: ResolvedOptions): Promise<PossiblyMirrored> {
    const { onHost, isWhole, tell } = this.#options;
    const isDense = value.values.every((item) => 'data' in item && isKnown(item.dtype));
    if (isDense && isWhole) {
      tell('what is not an all-reduce of values on a GPU each goes to one GPU');
      const name = op.toLowerCase() as CollectiveOp;
      return reduceToOneGpu(name, value.values as readonly Tensor[], getDevicesFrom(destinations));
    }
    tell('what NCCL cannot add up, and indexed slices, go by way of the host');
    const copied = new PerReplica(await Promise.all(value.values.map((item) => toHost(item))));
    return toGpus(await onHost.reduce(op, copied, destinations, callOf(call)));
  }
}

function isAllReduce([value, destinations]: ReadyPair): boolean {
  const isKnownDense = value.values.every((item) => 'data' in item && isKnown(item.dtype));
  return isKnownDense && devicesMatch(value, destinations) && haveGpuEach(value.devices);
}

/** Whether these are GPUs, each another one. */
export function haveGpuEach(devices: readonly string[]): boolean {
  return devices.every(isGpu) && new Set(devices.map(gpuIndex)).size === devices.length;
}

function isGpu(device: string): boolean {
  return device !== '' && deviceType(device) === 'GPU';
}

function newOnGpu(like: Tensor, dtype: Tensor['dtype']): Tensor {
  return DeviceBuffer.allocate(gpuIndex(like.device), dtype, lengthOf(like)).tensor(like.shape, like.device);
}

function copyOnGpu(value: Value, device: string): Value | undefined {
  return 'data' in value && isOnGpu(value) ? value.memory?.copy(value.shape, device) : undefined;
}

function callOf({ options, signal, sharedResult }: ResolvedOptions) {
  return { options, signal, sharedResult };
}

function runOptionsOf({ options: { timeoutSeconds, checkCalls }, signal }: ResolvedOptions): RunOptions {
  return { timeoutSeconds, ...(checkCalls ? { checkCalls } : {}), ...(signal ? { signal } : {}) };
}

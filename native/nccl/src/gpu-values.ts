import {
  type CollectiveOp,
  type CrossDeviceOps,
  type Destinations,
  DistributedValues,
  getDevicesFrom,
  IndexedSlices,
  isIndexedSlices,
  PerReplica,
  type PossiblyMirrored,
  type ReadyPair,
  type ReduceOp,
  type ResolvedOptions,
  type RunOptions,
  type Tensor,
  type Value,
} from '@coll/core';
import { partOf } from '@coll/core/internal';
import { devicesMatch, mirror, outputDType } from '@coll/core/plugin';
import { bufferOf, DeviceBuffer, isOnGpu } from './device-buffer.js';
import { isKnown } from './element-types.js';
import { GpuGathers } from './gpu-gathers.js';
import type { GpuRanks } from './gpu-groups.js';
import { gpuIndex, haveGpuEach, isGpu } from './gpu-memory.js';
import { isValueOnGpu, toGpus, toHost } from './host-values.js';
import { lengthOf } from './operands.js';
import type { Passage } from './passage.js';
import { reduceToOneGpu } from './reduction-on-gpu.js';

/** A value with its destinations, and the index of this pair in the batch. */
interface IndexedPair {
  readonly pair: ReadyPair;
  readonly index: number;
}

/** Whether any component of a value is in the memory of a GPU. */
export function livesOnGpu({ values }: DistributedValues<Value>): boolean {
  return values.some(isValueOnGpu);
}

export interface GpuValuesOptions {
  readonly ranks: GpuRanks;
  /** The ops for values on the host, and for operations that NCCL and the GPUs do not support. */
  readonly onHost: CrossDeviceOps;
  /** Whether all components of a value are in this process. */
  readonly isWhole: boolean;
  /** Reduces a value that has no component in GPU memory. */
  reduceOnHost(op: ReduceOp, pair: ReadyPair, call: ResolvedOptions): Promise<PossiblyMirrored>;
  tell(why: string): void;
}

/**
 * Reduces, broadcasts and gathers values with components in GPU memory. Results are in GPU memory,
 * too.
 */
export class GpuValues {
  readonly #options: GpuValuesOptions;
  readonly #gathers: GpuGathers;

  constructor(options: GpuValuesOptions) {
    this.#options = options;
    this.#gathers = new GpuGathers(options.ranks);
  }

  /**
   * Reduces values; results are in the order of `pairs`. NCCL executes all-reduces on the same GPUs
   * as one group call; sparse values on the same GPUs form another.
   */
  async reduce(op: ReduceOp, pairs: readonly ReadyPair[], call: ResolvedOptions): Promise<PossiblyMirrored[]> {
    const results: PossiblyMirrored[] = new Array(pairs.length);
    const [dense, sparse] = [new Map<string, IndexedPair[]>(), new Map<string, IndexedPair[]>()];
    const others: IndexedPair[] = [];
    for (const [index, pair] of pairs.entries()) {
      if (isAllReduce(pair)) addTo(dense, { pair, index });
      else if (isJoin(op, pair)) addTo(sparse, { pair, index });
      else others.push({ pair, index });
    }
    for (const placed of dense.values()) {
      const reduced = await this.#allReduce(op, placed, call);
      for (const [position, { index }] of placed.entries()) results[index] = reduced[position] as PossiblyMirrored;
    }
    for (const placed of sparse.values()) {
      const pairs = placed.map(({ pair }) => pair);
      const joined = await this.#gathers.joinSlices(op as 'SUM' | 'MEAN', pairs, runOptionsOf(call));
      for (const [position, one] of placed.entries()) {
        const slices = joined[position];
        if (slices) results[one.index] = slices;
        else others.push(one);
      }
    }
    for (const { pair, index } of others) results[index] = await this.#reduceOne(op, pair, call);
    return results;
  }

  /**
   * Copies a value to every destination. Uses NCCL if the destinations are several GPUs, including
   * the GPU of the value.
   */
  async broadcast(value: Value, destinations: readonly string[]): Promise<PossiblyMirrored> {
    if (value instanceof IndexedSlices) return this.#broadcastSlices(value, destinations);
    if (this.#options.isWhole && isBroadcast(value, destinations)) return this.#broadcast(value, destinations);
    const copies = destinations.map((device) => (isGpu(device) ? copyOnGpu(value, device) : undefined));
    const onHost = copies.includes(undefined) ? await toHost(value) : value;
    if (!copies.includes(undefined)) return mirror(copies as Value[]);
    const left = destinations.filter((_, index) => copies[index] === undefined);
    const rest = await this.#options.onHost.broadcast(onHost, left);
    const made = [...(rest instanceof DistributedValues ? rest.values : [rest])];
    return mirror(copies.map((copy) => copy ?? (made.shift() as Value)));
  }

  /**
   * Joins the components of a value on their GPUs. Returns undefined if no component is in GPU
   * memory; the processes agree on this, so the result is undefined on all of them or on none.
   */
  async gather(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor> | undefined> {
    const joined = await this.#gathers.gather(value, destinations, axis, runOptionsOf(call));
    if (joined || !livesOnGpu(value)) return joined;
    const { onHost, tell } = this.#options;
    tell(
      'a gather goes through the host unless its destinations are the GPUs of its components, one component per GPU',
    );
    const copied = new PerReplica(await Promise.all(value.values.map((item) => toHost(item))));
    const gathered = await onHost.gather(copied, destinations, axis, partOf(call));
    return (await toGpus(gathered)) as PossiblyMirrored<Tensor>;
  }

  async #broadcastSlices(
    { values, indices, denseShape }: IndexedSlices,
    destinations: readonly string[],
  ): Promise<PossiblyMirrored> {
    const [rows, places] = await Promise.all(
      [values, indices].map(async (part) => {
        const copies = await this.broadcast(part, destinations);
        return (copies instanceof DistributedValues ? copies.values : [copies]) as readonly Tensor[];
      }),
    );
    return mirror(
      destinations.map((_, at) => new IndexedSlices(rows?.[at] as Tensor, places?.[at] as Tensor, denseShape)),
    );
  }

  async #broadcast(value: Tensor, destinations: readonly string[]): Promise<PossiblyMirrored> {
    const root = destinations.findIndex((device) => gpuIndex(device) === bufferOf(value).memory.device);
    const outputs = destinations.map((device) => newOnGpu(value, value.dtype, device));
    const group = await this.#options.ranks.of(destinations);
    // Only the root's input is read.
    const inputs = outputs.map((output, rank) => (rank === root ? value : output));
    await group.runTogether([{ collective: { kind: 'broadcast', root }, inputs, outputs }]);
    return mirror(outputs);
  }

  async #allReduce(op: ReduceOp, placed: readonly IndexedPair[], call: ResolvedOptions): Promise<PossiblyMirrored[]> {
    const collective = { kind: 'all-reduce', op: op.toLowerCase() as CollectiveOp } as const;
    const [
      {
        pair: [sample],
      },
    ] = placed as [IndexedPair];
    const group = await this.#options.ranks.of(sample.devices);
    const passages = placed.map(({ pair: [value], index }): Passage => {
      const inputs = value.values as readonly Tensor[];
      const outputs =
        call.targets?.[index] ??
        inputs.map((input) => newOnGpu(input, outputDType(collective, input.dtype), input.device));
      return { collective, inputs, outputs };
    });
    await group.runTogether(passages, runOptionsOf(call));
    return passages.map(({ outputs }) => mirror(outputs));
  }

  async #reduceOne(op: ReduceOp, [value, destinations]: ReadyPair, call: ResolvedOptions): Promise<PossiblyMirrored> {
    const { onHost, isWhole, tell } = this.#options;
    const isDense = value.values.every((item) => 'data' in item && isKnown(item.dtype));
    if (isDense && isWhole) {
      tell('values that are not on one GPU each, or not all-reduced, are combined on a single GPU');
      const name = op.toLowerCase() as CollectiveOp;
      return reduceToOneGpu(name, value.values as readonly Tensor[], getDevicesFrom(destinations));
    }
    if (!livesOnGpu(value)) return this.#options.reduceOnHost(op, [value, destinations], call);
    tell('values that NCCL cannot reduce, and indexed slices that are not on one GPU each, go through the host');
    const copied = new PerReplica(await Promise.all(value.values.map((item) => toHost(item))));
    return toGpus(await onHost.reduce(op, copied, destinations, partOf(call)));
  }
}

/** Adds a value to the values on the same devices; different names of one GPU count as equal. */
function addTo(groups: Map<string, IndexedPair[]>, placed: IndexedPair): void {
  const key = placed.pair[0].devices.map((device) => (isGpu(device) ? gpuIndex(device) : device)).join();
  const known = groups.get(key);
  if (known) known.push(placed);
  else groups.set(key, [placed]);
}

/**
 * Whether a sparse value is summed or averaged, which is done by joining the rows and indices of
 * its components.
 */
function isJoin(op: ReduceOp, [value]: ReadyPair): boolean {
  return isIndexedSlices(value) && (op === 'SUM' || op === 'MEAN');
}

function isAllReduce([value, destinations]: ReadyPair): boolean {
  const isKnownDense = value.values.every((item) => 'data' in item && isKnown(item.dtype));
  return isKnownDense && devicesMatch(value, destinations) && haveGpuEach(value.devices);
}

function isBroadcast(value: Tensor, destinations: readonly string[]): boolean {
  if (!isOnGpu(value) || destinations.length < 2) return false;
  const { device } = bufferOf(value).memory;
  return haveGpuEach(destinations) && destinations.some((destination) => gpuIndex(destination) === device);
}

function newOnGpu(like: Tensor, dtype: Tensor['dtype'], device: string): Tensor {
  return DeviceBuffer.allocate(gpuIndex(device), dtype, lengthOf(like)).tensor(like.shape, device);
}

function copyOnGpu(value: Tensor, device: string): Tensor | undefined {
  return isOnGpu(value) ? value.memory?.copy(value.shape, device) : undefined;
}

function runOptionsOf({ options: { timeoutSeconds, checkCalls }, signal, turn }: ResolvedOptions): RunOptions {
  return { timeoutSeconds, turn, ...(checkCalls ? { checkCalls } : {}), ...(signal ? { signal } : {}) };
}

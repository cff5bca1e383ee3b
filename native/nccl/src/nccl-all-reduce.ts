import {
  AllReduceOps,
  type AllReduceOptions,
  type Communicator,
  type CrossDeviceOps,
  canonicalize,
  type Destinations,
  type DistributedValues,
  getDevicesFrom,
  hostForDevice,
  isIndexedSlices,
  type PossiblyMirrored,
  type ReadyPair,
  type ReduceOp,
  type ResolvedOptions,
  stitchValues,
  type Tensor,
  type Value,
  ValueError,
  type World,
} from '@coll/core';
import { type DenseBatch, knownOptions, optionsOf, type ValueLists, type Work } from '@coll/core/internal';
import { deviceType, logFirst } from '@coll/core/plugin';
import { ReductionToOneDevice, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { AllReduceOnly } from './all-reduce-only.js';
import { GpuGroups, type GpuRanks, GroupedCommunicator } from './gpu-groups.js';
import { haveGpuEach } from './gpu-memory.js';
import { GpuValues, livesOnGpu } from './gpu-values.js';
import { isValueOnGpu } from './host-values.js';
import type { NcclOptions } from './nccl-communicator.js';
import { ProcessCommunicator } from './process-communicator.js';
import { ProcessGpus } from './process-gpus.js';

/**
 * Options of all-reduces with NCCL: packing, timeouts, and the ops for calls that NCCL does not
 * support.
 */
export interface NcclAllReduceOptions extends AllReduceOptions, Pick<NcclOptions, 'defaultTimeoutSeconds'> {
  /**
   * Number of packs into which the host values of a batch are joined; 0 sends each value
   * separately. Default: 1. Values in GPU memory are never packed: they form one group call.
   */
  readonly numPacks?: number | undefined;
  /**
   * Cross-device ops for calls that NCCL does not support: other destinations, indexed slices and
   * gathers. Closing the NCCL ops also closes these ops. Default: reduction to one device. With
   * several processes, there is no default, and such calls throw an error.
   */
  readonly onHost?: CrossDeviceOps | undefined;
}

const ncclAllReduceOptions = knownOptions<NcclAllReduceOptions>('NcclAllReduce', {
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
  defaultTimeoutSeconds: true,
  onHost: true,
});

/**
 * All-reduce across GPUs by NCCL, in one process or several. With several processes, each process
 * passes values with the components of its own GPUs, and all processes make the same calls in the
 * same order.
 *
 * Values are tensors in GPU memory, or host tensors that name a GPU as their device; such host
 * tensors are copied to the GPU and back. Results are in the same memory as the values. All other
 * operations use one device; `explain()` reports them.
 *
 * @example
 * ```ts
 * import { PerReplica, tensor } from '@coll/core';
 * import { gpus, NcclAllReduce } from '@coll/nccl';
 *
 * const devices = gpus().map(({ name }) => name);
 * await using ops = new NcclAllReduce();
 * const gradient = new Float32Array([1, 2]);
 * const value = new PerReplica(devices.map((device) => tensor(gradient, { device })));
 * const mean = await ops.reduce('MEAN', value, devices);
 * console.log('values' in mean ? mean.values[0]?.data : mean.data); // Float32Array(2) [ 1, 2 ]
 * ```
 */
export class NcclAllReduce extends AllReduceOps {
  readonly name = 'nccl';
  readonly #ranks: GpuRanks;
  readonly #onGpus: GpuValues;
  readonly #processes: number;
  /**
   * True if there are several processes and `onHost` was given: then all processes must agree
   * whether NCCL or `onHost` executes an operation.
   */
  readonly #hasChoice: boolean;

  /**
   * Succeeds without NCCL and without a GPU. The first call with a value on a GPU throws if one of
   * them is missing.
   * @throws ValueError for a negative `numPacks`, or options that are not an object
   */
  constructor(options?: NcclAllReduceOptions, world?: World) {
    const { defaultTimeoutSeconds, onHost, ...others } = optionsOf(
      options,
      'new NcclAllReduce({ numPacks: 1 })',
      ncclAllReduceOptions,
    );
    const processes = processesOf(world);
    const fallback = onHost ?? (processes > 1 ? new AllReduceOnly() : new ReductionToOneDevice());
    const groups = new GpuGroups({ defaultTimeoutSeconds });
    const gpus = processes > 1 ? new ProcessGpus(world as World, { defaultTimeoutSeconds }) : undefined;
    const isElsewhere = world !== undefined && world.localRanks.length < world.devices.length;
    super({
      ...others,
      algorithm: reductionToOneAlgorithm(),
      fallback,
      world,
      refuses: refusal,
      communicator(size, engine) {
        if (gpus) return new ProcessCommunicator(ranksOf(world as World, size, engine), gpus);
        return engine.localRanks.length === size ? new GroupedCommunicator(size, groups, engine) : engine;
      },
    });
    if (isElsewhere && !gpus)
      this.#tell(
        `replicas in threads of one process have their values on the host; the ${world.engine} engine is used`,
      );
    this.#ranks = gpus ?? groups;
    this.#processes = processes;
    this.#hasChoice = processes > 1 && onHost !== undefined;
    const tell = (why: string) => this.#tell(why);
    this.#onGpus = new GpuValues({
      ranks: this.#ranks,
      onHost: fallback,
      isWhole: !gpus,
      reduceOnHost: (op, pair, call) => super.reduceImplementation(op, ...pair, call),
      tell,
    });
  }

  protected override get workerCount(): number {
    return this.#processes;
  }

  /** Undefined: `batchReduceImplementation` also reduces values, and into results, in GPU memory. */
  protected override denseWork(_batch: DenseBatch, _call: ResolvedOptions): Work<ValueLists> | undefined {
    return undefined;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#ranks.close();
  }

  protected override async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    if (!this.#isForGpus(value)) return super.reduceImplementation(op, value, destinations, call);
    return (await this.#onGpus.reduce(op, [[value, destinations]], call))[0] as PossiblyMirrored;
  }

  protected override async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const indicesOf = (has: (pair: ReadyPair) => boolean) =>
      [...pairs.keys()].filter((at) => has(pairs[at] as ReadyPair));
    const onGpus = indicesOf(([value]) => this.#isForGpus(value));
    const onHost = indicesOf(([value]) => !this.#isForGpus(value));
    const part = (indices: readonly number[]) => {
      const targets = call.targets && { targets: indices.map((index) => call.targets?.[index]) };
      return [indices.map((index) => pairs[index] as ReadyPair), { ...call, ...targets }] as const;
    };
    const reduced = onGpus.length > 0 ? await this.#onGpus.reduce(op, ...part(onGpus)) : [];
    const [rest, ownCall] = part(onHost);
    const others = rest.length === 0 ? [] : await super.batchReduceImplementation(op, rest, ownCall);
    return stitchValues<PossiblyMirrored>([
      [reduced, onGpus],
      [others, onHost],
    ]);
  }

  protected override async broadcastImplementation(
    value: Value,
    destinations: Destinations,
  ): Promise<PossiblyMirrored> {
    if (!isValueOnGpu(value)) return super.broadcastImplementation(value, destinations);
    return this.#onGpus.broadcast(value, getDevicesFrom(destinations));
  }

  protected override async gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    const joined = this.#isForGpus(value, true)
      ? await this.#onGpus.gather(value, destinations, axis, call)
      : undefined;
    return joined ?? this.gatherElsewhere(value, destinations, axis, call);
  }

  /**
   * Whether a value is on GPUs of this process, or may be on GPUs of another process. In the second
   * case all processes must decide together how to combine the value.
   */
  #isForGpus(value: DistributedValues<Value>, isGather = false): boolean {
    return livesOnGpu(value) || (this.#hasChoice && (isGather || isIndexedSlices(value)));
  }

  #tell(why: string): void {
    if (this.note(why)) logFirst(10, why, 'info', `${this.name}: ${why}`);
  }
}

/**
 * Why NCCL does not reduce this host value: a device is not a GPU, or two components share a GPU.
 * Undefined if NCCL reduces it.
 */
function refusal([value, destinations]: ReadyPair): string | undefined {
  const devices = [...value.devices, ...getDevicesFrom(destinations)];
  const other = devices.find((device) => device === '' || deviceType(device) !== 'GPU');
  if (other !== undefined) return `"${other}" is not a GPU`;
  return haveGpuEach(value.devices) ? undefined : 'several components are on one GPU';
}

/**
 * Number of processes of a world, each with the same number of ranks. A world whose devices belong
 * to one task is one process.
 */
function processesOf(world: World | undefined): number {
  if (!world) return 1;
  const { devices, localRanks } = world;
  const taskOf = (device: string) => hostForDevice(canonicalize(device));
  const isOne = devices.every((device) => taskOf(device) === taskOf(devices[0] as string));
  return isOne ? 1 : devices.length / localRanks.length;
}

/**
 * Returns the communicator for values that have one component on each GPU of this process.
 * @throws ValueError unless there is one component per local GPU
 */
function ranksOf(world: World, size: number, engine: Communicator): Communicator {
  // The engine of one replica, made by the world.
  if (engine.localRanks.length < engine.size) return engine;
  void engine.close();
  if (size === world.localRanks.length) return world.communicator(reductionToOneAlgorithm());
  const message = `each value must have one component on each of the ${world.localRanks.length} GPUs of this process, got a value with ${size}`;
  throw new ValueError('ERR_COLL_VALUE', `nccl: ${message}`, { operation: 'all-reduce' });
}

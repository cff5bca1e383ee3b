import {
  type AllReduceOptions,
  type Destinations,
  type DistributedValues,
  type Explanation,
  isIndexedSlices,
  localDevicesFromNumGpus,
  type PossiblyMirrored,
  type ProcessGroup,
  type ReadyPair,
  type ReduceOp,
  type ResolvedOptions,
  resolveEngine,
  type Tensor,
  type Value,
  ValueError,
  type World,
} from '@coll/core';
import {
  type DenseBatch,
  knownOptions,
  optionsOf,
  partOf,
  perReplica,
  quote,
  requireProcessGroup,
  type ValueLists,
  type Work,
} from '@coll/core/internal';
import { allDevicesMatch, devicesMatch, logFirst, requireWorld } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { worldHere } from './collective-workers.js';
import { type AllReduceSpec, type AllReduceSpecLike, parseSpec } from './compat/all-reduce-spec.js';
import { type LimitUnit, SpecPlan } from './compat/spec-plan.js';
import { SpecRanks } from './compat/spec-ranks.js';
import { MultiWorkerCommunicator } from './multi-worker-communicator.js';
import { NcclGroups } from './nccl-groups.js';
import { NcclValues } from './nccl-values.js';
import { type OtherWorkers, WorkerAllReduce } from './worker-all-reduce.js';
import { isSpread, requireWorkerByWorker, type Workers, workersAmong, workersOf } from './workers.js';

/** Options of `MultiWorkerAllReduce`; `numPacks` defaults to 0. */
export interface MultiWorkerAllReduceOptions extends AllReduceOptions {
  /**
   * The all-reduce specification, which selects the algorithm by tensor size. Default:
   * `['pscpu/pscpu', 2, -1]`, i.e. 2 shards and no limit.
   */
  readonly allReduceSpec?: AllReduceSpecLike | undefined;
  /** The unit of the limits in `allReduceSpec`. Default: elements. */
  readonly limitUnit?: LimitUnit | undefined;
  /**
   * The processes that are the workers, in rank order. Values then have only the components of this
   * process. Default: all components are in this process.
   */
  readonly group?: ProcessGroup | undefined;
}

const multiWorkerAllReduceOptions = knownOptions<MultiWorkerAllReduceOptions>('MultiWorkerAllReduce', {
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
  allReduceSpec: true,
  limitUnit: true,
  group: true,
});

/**
 * All-reduce over the devices of several workers. Each tensor uses the first entry of the
 * all-reduce specification (`allReduceSpec`) whose limit it does not exceed. Components of a value
 * are listed worker by worker; with a process group, a value has only this worker's components.
 * Results are in the order of the values.
 *
 * If a CPU or GPU that gathers holds no component, another device of the same worker replaces it.
 * `nccl` in a specification means the plug-in that is registered under that name when the
 * specification first needs it.
 *
 * @example
 * ```ts
 * import { PerReplica, tensor } from '@coll/core';
 * import { MultiWorkerAllReduce } from '@coll/multi-worker';
 *
 * const workers = ['/job:worker/task:0', '/job:worker/task:1'];
 * const devices = workers.flatMap((worker) => [`${worker}/gpu:0`, `${worker}/gpu:1`]);
 * await using ops = new MultiWorkerAllReduce(workers, 2, { allReduceSpec: 'pscpu/pscpu' });
 * const value = new PerReplica(devices.map((device, index) => tensor([index], { device })));
 * const sum = await ops.reduce('SUM', value, value);
 * console.log('values' in sum && sum.values.map(({ data }) => data[0])); // [ 6, 6, 6, 6 ]
 * ```
 */
export class MultiWorkerAllReduce extends WorkerAllReduce {
  readonly name = 'multi-worker';
  readonly #plan: SpecPlan;
  readonly #nccl: NcclGroups;
  readonly #ncclValues: NcclValues;
  readonly #workers: Workers | undefined;

  /**
   * `workerDevices` names the workers, such as `/job:worker/task:0`. Each has `numGpusPerWorker`
   * devices. Default: the workers of the world's devices; without a world, one worker with all
   * devices; with a group, one worker per process.
   * @throws ValueError for a specification that is invalid or that these workers cannot execute
   * (the error names the entry), for invalid workers or `limitUnit`, or if the devices of the world
   * are not listed worker by worker
   */
  constructor(
    workerDevices?: readonly string[],
    numGpusPerWorker?: number,
    given?: MultiWorkerAllReduceOptions,
    world?: World,
  ) {
    const options = optionsOf(given, "{ allReduceSpec: 'xring' }", multiWorkerAllReduceOptions);
    const { limitUnit = 'elements', engine } = options;
    requireLimitUnit(limitUnit);
    requireWorld(world);
    requireProcessGroup(options.group);
    const group = options.group && options.group.size > 1 ? options.group : undefined;
    const workers = workersFor(workerDevices, numGpusPerWorker, world, group);
    const { numPacks = 0, aggSmallGradsMaxBytes = 0, aggSmallGradsMaxGroup = 10 } = options;
    const packing = { numPacks, aggSmallGradsMaxBytes, aggSmallGradsMaxGroup };
    const entries = entriesFor(options.allReduceSpec, workerDevices, workers);
    const plan = new SpecPlan({ entries, workers, limitUnit, packing });
    requirePlaces(world?.devices ?? [], workers, plan);
    const connect = group && ((algorithm: Algorithm) => group.communicator(algorithm));
    const nccl = new NcclGroups(() => (world?.resolution ?? resolveEngine(engine)).engine, connect);
    const devices = world?.devices;
    // The replica of a single process may also call these ops from inside.
    const own =
      world ??
      (options.group && worldHere(devicesOf(workers ?? alone, workerDevices?.[options.group.rank]), engine, group));
    const others = group && workers && othersOf({ group, workers, devices, workerDevices, plan, nccl });
    super({
      ...packing,
      engine,
      world: own,
      // With other workers, this algorithm works within this worker, unless NCCL does.
      algorithm: group ? reductionToOneAlgorithm() : plan.algorithm,
      routes: (values, ranks) => plan.routes(values, group && workers ? ranksOf(workers) : ranks),
      others,
      // Replicas in separate threads are only connected by the engine, which refuses NCCL.
      communicator: (_, communicator) => {
        const isWhole = communicator.localRanks.length === communicator.size;
        return isWhole && plan.usesNccl ? new MultiWorkerCommunicator(communicator, plan, nccl) : communicator;
      },
    });
    this.#plan = plan;
    this.#nccl = nccl;
    this.#ncclValues = new NcclValues(plan, nccl);
    this.#workers = workers;
  }

  /** Always true: values may be on devices of several tasks. */
  override get severalTasks(): boolean {
    return true;
  }

  /**
   * Also reports which devices combine values in place of devices that hold no component, and how
   * NCCL deviates from the request.
   */
  override explain(): Explanation {
    const explanation = super.explain();
    return { ...explanation, notes: [...explanation.notes, ...this.#plan.notes, ...this.#nccl.notes] };
  }

  /** Also closes the NCCL groups that these ops opened. */
  override async close(): Promise<void> {
    await super.close();
    await this.#nccl.close();
  }

  /** Checks that the workers and the places of the devices are known, then describes the all-reduce. */
  protected override denseWork(batch: DenseBatch, call: ResolvedOptions): Work<ValueLists> | undefined {
    // NCCL uses the values of GPUs in place.
    if (batch.inputs.some((values) => values.some(({ memory }) => memory))) return undefined;
    const values = perReplica(batch.inputs);
    this.#requireKnownWorkers(values);
    this.#prepare(values);
    return super.denseWork(batch, call);
  }

  /** Checks that the workers are known, then calls the implementation of the base class. */
  protected override async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    this.#requireKnownWorkers([value]);
    const nccl = await this.#ncclValues.opsFor(value);
    if (nccl) return nccl.reduce(op, value, destinations, partOf(call));
    if (devicesMatch(value, destinations)) this.#prepare([value]);
    return super.reduceImplementation(op, value, destinations, call);
  }

  /** Checks that the workers are known, then calls the implementation of the base class. */
  protected override async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const values = pairs.map(([value]) => value);
    this.#requireKnownWorkers(values);
    return this.#ncclValues.batchReduce(op, pairs, call, (rest, own) => {
      if (allDevicesMatch(rest)) this.#prepare(rest.map(([value]) => value));
      return super.batchReduceImplementation(op, rest, own);
    });
  }

  /**
   * Concatenates the components of a value: by NCCL if they are in GPU memory, otherwise on the
   * host.
   */
  protected override async gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    const nccl = await this.#ncclValues.opsFor(value);
    if (nccl) return nccl.gather(value, destinations, axis, partOf(call));
    return super.gatherImplementation(value, destinations, axis, call);
  }

  protected override async broadcastImplementation(
    value: Value,
    destinations: Destinations,
  ): Promise<PossiblyMirrored> {
    const copies = await this.#ncclValues.broadcast(value, destinations);
    return copies ?? super.broadcastImplementation(value, destinations);
  }

  /**
   * Checks the devices of a batch before an all-reduce. All dense values have the same devices, so
   * only the first one is checked. Sparse values may be on any devices, because they are copied to
   * one device.
   */
  #prepare(values: readonly DistributedValues<Value>[]): void {
    const dense = values.find((value) => !isIndexedSlices(value));
    if (dense) requirePlaces(dense.devices, this.#workers, this.#plan);
    const message = `distributed batch all-reduce of ${values.length} values by ${this.#plan}`;
    logFirst(10, 'multi-worker specification', 'info', message);
  }

  #requireKnownWorkers(values: readonly DistributedValues<Value>[]): void {
    if (this.#workers) return;
    const odd = values.find(({ devices }) => isSpread(devices));
    if (!odd) return;
    throw new ValueError(
      'ERR_COLL_DEVICE',
      `all-reduce: [${odd.devices.join(', ')}] are devices of several workers: pass workerDevices and numGpusPerWorker to describe the workers`,
      { operation: 'all-reduce' },
    );
  }
}

/** A single worker, whose devices are unknown. */
const alone: Workers = { workers: 1, gpusPerWorker: 0 };

function workersFor(
  workerDevices: readonly string[] | undefined,
  numGpusPerWorker: number | undefined,
  world: World | undefined,
  group: ProcessGroup | undefined,
): Workers | undefined {
  if (workerDevices === undefined && numGpusPerWorker === undefined) {
    if (group) return { workers: group.size, gpusPerWorker: world?.devices.length ?? 1 };
    return world && workersAmong(world.devices);
  }
  if (workerDevices !== undefined && numGpusPerWorker !== undefined) {
    const workers = workersOf(workerDevices, numGpusPerWorker);
    if (!group || workers.workers === group.size) return workers;
    const message = `workerDevices has ${workers.workers} workers, but the group has ${group.size} processes: pass one worker per process, in rank order`;
    throw new ValueError('ERR_COLL_VALUE', message);
  }
  throw new ValueError('ERR_COLL_VALUE', 'pass workerDevices and numGpusPerWorker together, or neither');
}

/** The devices of a worker: its GPUs, or its CPU if it has none. */
function devicesOf({ gpusPerWorker }: Workers, worker = ''): readonly string[] {
  return localDevicesFromNumGpus(gpusPerWorker).map((device) => `${worker}${device}`);
}

/**
 * Number of components on all workers: one per GPU, or one per worker on its CPU if there are no
 * GPUs.
 */
function ranksOf({ workers, gpusPerWorker }: Workers): number {
  return workers * Math.max(1, gpusPerWorker);
}

interface SpecWorkers {
  readonly group: ProcessGroup;
  readonly workers: Workers;
  /** The devices of this worker, if the world of the ops names them; otherwise undefined. */
  readonly devices: readonly string[] | undefined;
  /** The names of all workers, if the caller has named them; otherwise undefined. */
  readonly workerDevices: readonly string[] | undefined;
  readonly plan: SpecPlan;
  readonly nccl: NcclGroups;
}

/**
 * This worker's connection to the other workers.
 * @throws ValueError for an entry that cannot run across processes, or if this worker has a wrong
 * number of devices
 */
function othersOf({ group, workers, workerDevices, plan, nccl, ...given }: SpecWorkers): OtherWorkers {
  const { devices = devicesOf(workers, workerDevices?.[group.rank]) } = given;
  plan.requireLevels();
  if (devices.length * group.size !== ranksOf(workers)) {
    const message = `each worker must have ${ranksOf(workers) / group.size} devices, but this worker has ${devices.length}: [${devices.join(', ')}]`;
    throw new ValueError('ERR_COLL_DEVICE', message);
  }
  return {
    group,
    devices,
    keepsOrder: devices.length === 1 && !plan.usesNccl,
    connect(engine) {
      const ranks = new SpecRanks(engine, group, plan);
      return plan.usesNccl ? new MultiWorkerCommunicator(ranks, plan, nccl) : ranks;
    },
  };
}

function requirePlaces(devices: readonly string[], workers: Workers | undefined, plan: SpecPlan): void {
  if (workers && !plan.takesAnyOrder) requireWorkerByWorker(devices, workers);
}

/**
 * The entries of the all-reduce specification. The default entry has 2 shards, as in TensorFlow,
 * but at most one per worker if the workers were not named.
 */
function entriesFor(
  spec: AllReduceSpecLike | undefined,
  workerDevices: readonly string[] | undefined,
  workers: Workers | undefined,
): readonly AllReduceSpec[] {
  if (spec !== undefined) return parseSpec(spec);
  const shards = workerDevices ? 2 : Math.min(2, workers?.workers ?? 1);
  return parseSpec(['pscpu/pscpu', shards, -1]);
}

function requireLimitUnit(unit: unknown): void {
  if (unit === 'elements' || unit === 'bytes') return;
  throw new ValueError('ERR_COLL_VALUE', `limitUnit must be 'elements' or 'bytes', got ${quote(unit)}`);
}

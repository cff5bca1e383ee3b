import type { ReduceOp } from '../collectives/reduce-op.js';
import { requireEngineRequest, resolveEngine } from '../engines/engines.js';
import { hasOthers, type World, type WrapCommunicator } from '../engines/world.js';
import { jsEngine } from '../js/js-engine.js';
import { type PackingOptions, requirePacking } from '../packing/arrangement.js';
import { PackRunner } from '../packing/pack-runner.js';
import { type FindRoutes, RoutedBatches, type Routing } from '../packing/routes.js';
import { areAlike, type DenseBatch, perReplica, type ValueLists } from '../replicas/batch.js';
import type { ReplicaPlan } from '../replicas/replica-plan.js';
import { SmallReduces } from '../replicas/small-reduces.js';
import { optionsAt, partOf, type ResolvedOptions, runOptionsOf } from '../runtime/call-options.js';
import type { Communicator } from '../runtime/communicator.js';
import { drive, type Work } from '../runtime/drive.js';
import type { Engine, EngineRequest, EngineResolution } from '../runtime/engine.js';
import type { Algorithm } from '../schedule/schedule.js';
import { withFallbackTransfers } from '../schedule/with-fallback-transfers.js';
import { bySparsity } from '../sparse/by-sparsity.js';
import { ValueError } from '../support/errors.js';
import { knownOptions } from '../support/known-options.js';
import { logFirst } from '../support/logger.js';
import { optionsOf } from '../support/options-of.js';
import { quote } from '../support/quote.js';
import { allDevicesMatch, type Destinations, devicesMatch, requireSameDevices } from '../values/destinations.js';
import type { DistributedValues, PossiblyMirrored } from '../values/distributed-values.js';
import type { Value } from '../values/indexed-slices.js';
import type { Tensor } from '../values/tensor.js';
import { CrossDeviceOps } from './cross-device-ops.js';
import type { Explanation } from './explanation.js';
import { unreachedRanks } from './ops-errors.js';
import {
  byDevice,
  isWhollyDense,
  mirrored,
  type PackingGroup,
  packedBatch,
  refusalOf,
  smallWorkOf,
  type ValuesByDevice,
  workOf,
} from './packed-batch.js';
import { type ReadyPair, requireReducible } from './reducible.js';

type DenseValues = Pick<DenseBatch, 'request' | 'inputs' | 'into' | 'isRepeated'>;

export interface AllReduceOptions extends PackingOptions {
  /**
   * The engine that does the arithmetic. If the ops are created for a `World`, the engine must be
   * the world's engine or `'auto'`. Default: `'auto'`, which selects the world's engine or, without
   * a world, the fastest engine that works here.
   */
  readonly engine?: EngineRequest | undefined;
}

export interface AllReduceSetup extends AllReduceOptions {
  readonly algorithm: Algorithm;
  /**
   * Serves calls that are not an all-reduce or that the communicator refuses, such as other
   * destinations, sparse values and gathers.
   */
  readonly fallback: CrossDeviceOps;
  readonly world?: World | undefined;
  /**
   * Splits a batch into groups of values, each with its own packing and algorithm variant. Default:
   * one group, packed by these options, variant 0.
   */
  readonly routes?: FindRoutes | undefined;
  /**
   * The reason, for the user, why the fallback must serve this value or destination; undefined if
   * these ops can. If the method is missing, these ops serve every pair.
   */
  refuses?(pair: ReadyPair): string | undefined;
  /** Wraps the communicator `engine`. The wrapper must close `engine`. Default: `engine` itself. */
  communicator?(size: number, engine: Communicator): Communicator;
  /**
   * Wraps the communicator between workers (processes), which has one rank per worker, for example
   * to compress what is sent to other hosts. It carries the partial results of each worker, in the
   * accumulator's dtype. Not called if all ranks belong to one worker. Default: no wrapper.
   */
  readonly across?: WrapCommunicator | undefined;
}

const setupFields = knownOptions<AllReduceSetup>('AllReduceOps', {
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
  algorithm: true,
  fallback: true,
  world: true,
  routes: true,
  refuses: true,
  communicator: true,
  across: true,
});

/**
 * Cross-device ops based on an all-reduce algorithm. They validate, pack, pass flat buffers to a
 * communicator and unpack the results. A subclass chooses the algorithm and the fallback.
 *
 * @example
 * ```ts
 * import { AllReduceOps, PerReplica, tensor } from '@coll/core';
 * import { ReductionToOneDevice } from '@coll/reduction-to-one';
 * import { ringAlgorithm } from '@coll/ring';
 *
 * class MyOps extends AllReduceOps {
 *   readonly name = 'my-ops';
 *
 *   constructor() {
 *     super({ algorithm: ringAlgorithm(), fallback: new ReductionToOneDevice() });
 *   }
 * }
 *
 * await using ops = new MyOps();
 * const devices = ['cpu:0', 'cpu:1'];
 * const value = new PerReplica(devices.map((device) => tensor([1], { device })));
 * const sum = await ops.reduce('SUM', value, devices);
 * console.log('values' in sum && sum.values.map(({ data }) => data[0])); // [ 2, 2 ]
 * ```
 */
export abstract class AllReduceOps extends CrossDeviceOps {
  readonly #setup: AllReduceSetup;
  /**
   * How the engine was chosen. Undefined in a world with its own engine, such as a group of
   * processes, until a call with another number of replicas needs an engine.
   */
  #resolution: EngineResolution | undefined;
  readonly #routing: Routing;
  readonly #groups = new Map<number, PackingGroup>();
  /** The topic under which all-reduces are logged. */
  #topic: string | undefined;

  /**
   * @throws ValueError for an unknown option, an invalid packing number, or an engine other than
   * the world's; CollError if the engine does not work here
   */
  constructor(setup: AllReduceSetup) {
    const given = optionsOf(setup, '{ algorithm, fallback }', setupFields) as AllReduceSetup;
    const { algorithm, engine = 'auto', world, routes, across } = given;
    const communicator: ReplicaPlan['communicator'] = (...group) => communicatorOf(setup, ...group);
    super(world, { algorithm, routes, packing: setup, communicator, across });
    requireEngineOf(world, engine);
    this.#resolution = world ? world.resolution : resolveEngine(engine);
    requirePacking(given, new.target.name);
    this.#setup = setup;
    this.#routing = { routes, packing: setup };
  }

  override explain(): Explanation {
    const { world } = this.#setup;
    // A world without a resolution, such as a group of processes, brings its own engine; no engine
    // was probed.
    if (world && !world.resolution) return { ...super.explain(), engine: world.engine, engines: [] };
    const { engine, candidates } = this.#engines();
    return { ...super.explain(), engine: world?.engine ?? engine.name, engines: candidates };
  }

  override async close(): Promise<void> {
    await super.close();
    await Promise.all([...this.#groups.values()].map(({ communicator }) => communicator.close()));
    await this.#setup.fallback.close();
  }

  protected override denseWork(batch: DenseBatch, call: ResolvedOptions): Work<ValueLists> | undefined {
    if (!areAlike(batch.inputs)) this.inReplicaNumbers(() => perReplica(batch.inputs).forEach(requireReducible));
    const isRefused = (value: DistributedValues<Tensor>) => this.#setup.refuses?.([value, value]) !== undefined;
    if (this.#setup.refuses && perReplica(batch.inputs).some(isRefused)) return undefined;
    const work = this.#describe(batch, call);
    return typeof work === 'string' ? undefined : work;
  }

  protected async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    const refused = this.#setup.refuses?.([value, destinations]) ?? refusedAsMove(value, destinations);
    if (refused) {
      this.#fallBack(refused);
      return this.#setup.fallback.reduce(op, value, destinations, partOf(call));
    }
    return (await this.#allReduceValues(op, [value], call))[0] as PossiblyMirrored;
  }

  /**
   * Reduces all values in one all-reduce if these ops can serve all of them and results stay on the
   * values' devices. Otherwise reduces them one after the other.
   */
  protected override batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const isTogether = allDevicesMatch(pairs) && pairs.every((pair) => this.#setup.refuses?.(pair) === undefined);
    if (!isTogether) return super.batchReduceImplementation(op, pairs, call);
    return this.#allReduceValues(
      op,
      pairs.map(([value]) => value),
      call,
    );
  }

  /** Gathers values with the fallback ops, for ops without a gather of their own. */
  protected gatherElsewhere(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    this.#fallBack(`${this.name} does not implement gather`, 'warn');
    return this.#setup.fallback.gather(value, destinations, axis, partOf(call));
  }

  /** All-reduces values that have a dense component, and then those without one. */
  #allReduceValues(
    op: ReduceOp,
    values: readonly DistributedValues<Value>[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    if (values.every(isWhollyDense)) return this.#allReduceDense(op, values, call);
    return bySparsity(
      values,
      (dense, indices) => this.#allReducePartlyDense(op, dense, optionsAt(indices, call)),
      (sparse) => this.#reduceSparse(op, sparse, call),
    );
  }

  #allReducePartlyDense(
    op: ReduceOp,
    values: readonly DistributedValues<Value>[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    if (values.every(isWhollyDense)) return this.#allReduceDense(op, values, call);
    requireSameDevices(values);
    return this.#reduceElsewhere(op, values, call, 'some components are dense and others sparse');
  }

  async #allReduceDense(
    op: ReduceOp,
    values: readonly DistributedValues<Tensor>[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    requireSameDevices(values);
    const work = this.#describe({ request: { kind: 'all-reduce', op }, inputs: byDevice(values) }, call);
    if (typeof work === 'string') return this.#reduceElsewhere(op, values, call, work);
    return mirrored(await drive(work, runOptionsOf(call)), values);
  }

  #reduceSparse(
    op: ReduceOp,
    values: readonly DistributedValues<Value>[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const topic = `${this.name} sparse all-reduce`;
    logFirst(
      10,
      topic,
      'warn',
      `${this.name} has no efficient all-reduce for its ${values.length} values of indexed slices`,
    );
    return this.#reduceElsewhere(op, values, call, 'an all-reduce of indexed slices gathers them');
  }

  #reduceElsewhere(
    op: ReduceOp,
    values: readonly DistributedValues<Value>[],
    call: ResolvedOptions,
    why: string,
  ): Promise<PossiblyMirrored[]> {
    this.#fallBack(why);
    return this.#setup.fallback.batchReduce(
      op,
      values.map((value) => [value, value] as const),
      partOf(call),
    );
  }

  /** The all-reduce of values on their devices, or the reason why the communicator refuses it. */
  #describe({ request, inputs, into, isRepeated }: DenseValues, call: ResolvedOptions): Work<ValuesByDevice> | string {
    const packed = packedBatch(this.#group(inputs.length), request.op, inputs, call);
    const refused = refusalOf(packed);
    if (refused !== undefined) return refused;
    this.#tell(inputs, packed.packs.length);
    return (isRepeated ? undefined : smallWorkOf(packed, call, into)) ?? workOf(packed, call, into);
  }

  #tell(perDevice: ValuesByDevice, packs: number): void {
    const message = () => `${perDevice[0]?.length} values in ${packs} packs over ${perDevice.length} devices`;
    this.#topic ??= `${this.name} all-reduce`;
    logFirst(10, this.#topic, 'info', () => `batch all-reduce: ${message()} with ${this.name}`);
  }

  #engines(): EngineResolution {
    this.#resolution ??= resolveEngine(this.#setup.engine);
    return this.#resolution;
  }

  // A single rank has nothing to combine, so it does not need a fast engine. With several workers,
  // the group of workers combines.
  #engineFor(size: number): Engine {
    return size === 1 && !this.#resolution ? jsEngine : this.#engines().engine;
  }

  // One communicator per number of local values, because values may live on any number of devices.
  #group(size: number): PackingGroup {
    const known = this.#groups.get(size);
    if (known) return known;
    const engine = this.#communicatorFor(size);
    const communicator = communicatorOf(this.#setup, engine.size, engine);
    const batches = new RoutedBatches(engine.size, this.#routing);
    const made = { communicator, runner: new PackRunner(communicator), batches, small: new SmallReduces(communicator) };
    this.#groups.set(size, made);
    return made;
  }

  #communicatorFor(size: number): Communicator {
    const { world, algorithm, across } = this.#setup;
    if (world?.localRanks.length === size) {
      if (!hasOthers(world)) return world.communicator(algorithm);
      // Two levels need broadcasts, which an algorithm may not have.
      if (this.#isOfWorkers) return world.communicator(withFallbackTransfers(algorithm), across);
    }
    return this.#engineFor(size).communicator(size, algorithm);
  }

  /** Whether a value has several components here, and others on other workers, with which this class combines them. */
  get #isOfWorkers(): boolean {
    const { world } = this.#setup;
    return world !== undefined && world.localRanks.length > 1 && hasOthers(world) && this.workerCount === 1;
  }

  /** @throws ValueError if the fallback would not see components on other workers */
  #fallBack(why: string, level: 'info' | 'warn' = 'info'): void {
    const { fallback } = this.#setup;
    if (this.#isOfWorkers) throw unreachedRanks(this.name, why);
    const remark = `${why}; ${fallback.name} is used instead`;
    if (this.note(remark)) logFirst(10, remark, level, `${this.name}: ${remark}`);
  }
}

function refusedAsMove(value: DistributedValues<Value>, destinations: Destinations): string | undefined {
  if (devicesMatch(value, destinations)) return undefined;
  return 'the destinations are not the devices of the values, so that this reduce is not an all-reduce';
}

function communicatorOf(setup: AllReduceSetup, size: number, engine: Communicator): Communicator {
  return setup.communicator?.(size, engine) ?? engine;
}

/** @throws ValueError if `engine` is not the engine of the world */
function requireEngineOf(world: World | undefined, engine: EngineRequest): void {
  requireEngineRequest(engine);
  if (!world || engine === 'auto' || engine === world.engine) return;
  const message = `engine is ${quote(engine)}, but the world of these ops uses ${quote(world.engine)}`;
  const advice = `choose the engine where the world is created, for example new MirroredStrategy({ engine: ${quote(engine)} })`;
  throw new ValueError('ERR_COLL_VALUE', `${message}; ${advice}`);
}

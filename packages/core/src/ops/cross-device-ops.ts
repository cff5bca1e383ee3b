import { type ReduceOp, validateReduceOp } from '../collectives/reduce-op.js';
import type { ReducedOnDevices, ReducedValue } from '../collectives/value-types.js';
import { hasOthers, requireWorld, type World } from '../engines/world.js';
import { concatAlong } from '../kernels/concat-along.js';
import { aloneResults } from '../replicas/alone.js';
import { type Batch, type DenseBatch, isDense, type ValueLists } from '../replicas/batch.js';
import type { ReplicaCallOptions, ReplicaValue } from '../replicas/replica-call.js';
import { ReplicaCollectives } from '../replicas/replica-collectives.js';
import type { ReplicaGroup } from '../replicas/replica-group.js';
import { type ReplicaPlan, replicaCommunicator, replicaGroupOf } from '../replicas/replica-plan.js';
import {
  begunOptions,
  type CallOptions,
  optionsAt,
  type ResolvedOptions,
  requireNameEach,
  resolveWithoutInto,
} from '../runtime/call-options.js';
import type { CallOrder } from '../runtime/call-order.js';
import type { Communicator } from '../runtime/communicator.js';
import { stepOf, type Work, workDone } from '../runtime/drive.js';
import type { EngineCandidate } from '../runtime/engine.js';
import { asValue, copyToDevice, isIndexedSlices, viewOnDevice } from '../sparse/sparse.js';
import {
  allDevicesMatch,
  type Destinations,
  devicesMatch,
  getDevicesFrom,
  validateDestinations,
} from '../values/destinations.js';
import type { DistributedValues, PerReplica, PossiblyMirrored } from '../values/distributed-values.js';
import type { IndexedSlices, Value } from '../values/indexed-slices.js';
import { mirror } from '../values/regroup.js';
import type { Structure } from '../values/structure.js';
import type { Tensor, TensorLike } from '../values/tensor.js';
import { countingRefusals } from './counting-refusals.js';
import type { Explanation } from './explanation.js';
import { resultsByHooks } from './hook-results.js';
import { closedOps, reachingAll, replicasOf } from './ops-errors.js';
import { reduceUnique, uniqueOf } from './reduce-unique.js';
import {
  asPerReplica,
  type ReadyPair,
  type ReducibleLike,
  readyPairs,
  requireNoSlices,
  requireReducible,
  type ValueDestinationPair,
} from './reducible.js';
import {
  type BatchReduceOptions,
  inGivenKind,
  inOrderOf,
  intoOf,
  placedResults,
  type ReduceOptions,
  resultTargets,
  targetsInOrderOfValues,
} from './result-targets.js';

const brand = Symbol.for('@coll/core.cross-device-ops');

/**
 * Reduces, broadcasts and gathers values over devices. Users call the public methods, which check
 * their arguments before any byte moves and serve trivial calls; plug-ins extend the class and
 * implement the protected methods. Inputs are never changed.
 *
 * @example
 * ```ts
 * import { type CrossDeviceOps, PerReplica, tensor } from '@coll/core';
 * import { ReductionToOneDevice } from '@coll/reduction-to-one';
 *
 * await using ops: CrossDeviceOps = new ReductionToOneDevice();
 * const devices = ['cpu:0', 'cpu:1'];
 * const value = new PerReplica(devices.map((device, index) => tensor([index + 1], { device })));
 * const mean = await ops.reduce('MEAN', value, devices);
 * const joined = await ops.gather(value, 'cpu:0', 0);
 * console.log('values' in mean && mean.values.map(({ data }) => data[0])); // [ 1.5, 1.5 ]
 * console.log('data' in joined && joined.data); // Float64Array(2) [ 1, 2 ]
 * ```
 */
export abstract class CrossDeviceOps implements AsyncDisposable {
  // The base class tests the brand, which other copies of the library share; subclasses use instanceof.
  static [Symbol.hasInstance](value: unknown): boolean {
    if (Object.getPrototypeOf(this) === Function.prototype)
      return typeof value === 'object' && value !== null && brand in value;
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }

  abstract readonly name: string;
  /** The collectives for calls from inside replicas; undefined unless these ops were made for a world of replicas. */
  readonly replicaGroup: ReplicaGroup | undefined;
  readonly #engine: string;
  readonly #engines: readonly EngineCandidate[];
  /** Collectives of the only local replica; undefined unless all other replicas are remote. */
  readonly #collectives: ReplicaCollectives | undefined;
  readonly #hasOthers: boolean;
  readonly #notes = new Set<string>();
  #isClosed = false;

  /** `plan` states how collectives called inside the world's replicas are executed. */
  constructor(world?: World, plan?: ReplicaPlan) {
    requireWorld(world);
    this.#engines = world?.resolution?.candidates ?? [];
    const isRemote = world?.localRanks.length === 1 && plan !== undefined;
    this.#hasOthers = world !== undefined && hasOthers(world);
    this.#engine = isRemote ? world.engine : 'js'; // Subclasses with another engine for replicas of one thread override `explain`.
    if (!world || !plan) return;
    const communicator = isRemote ? replicaCommunicator(world, plan) : undefined;
    if (communicator && communicator.size > 1) this.#collectives = new ReplicaCollectives(communicator, plan);
    this.replicaGroup = replicaGroupOf(this, world, communicator);
  }

  /**
   * Combines the components of a value and puts the result on every destination: `Mirrored`, or the
   * bare value for one device. If the value has a single component that is already on the
   * destination, the result is a copy and `reduceOp` is ignored. `into` provides memory for the
   * result.
   * @throws ValueError for destinations, ops, options or values of the wrong kind;
   * InvalidArgumentError and InternalError if components differ in shape or dtype
   */
  reduce<V extends ReducibleLike, Op extends ReduceOp>(
    reduceOp: Op,
    perReplicaValue: V,
    destinations: Destinations,
    options?: ReduceOptions,
  ): Promise<PossiblyMirrored<ReducedOnDevices<V, Op>>>;
  reduce(op: ReduceOp, given: ReducibleLike, destinations: Destinations, options?: ReduceOptions) {
    return countingRefusals(this.#orderOfWorkers, this.#reduce(op, given, destinations, options)) as Promise<never>;
  }

  async #reduce(op: ReduceOp, given: ReducibleLike, destinations: Destinations, options?: ReduceOptions) {
    this.#requireOpen('reduce');
    const resolved = begunOptions('reduce', options);
    const value = asPerReplica(given);
    validateDestinations(destinations);
    const into = intoOf(options);
    requireNameEach(resolved, 1);
    if (into !== undefined) return (await this.#reducePairs(op, [[value, destinations]], resolved, [into]))[0];
    const isUnique = resolved.deduplicate && isIndexedSlices(value);
    if (this.#isWhole(value) && devicesMatch(value, destinations)) {
      const [device] = getDevicesFrom(destinations) as readonly [string];
      return isUnique ? viewOnDevice(uniqueOf(value), device) : inGivenKind(copyToDevice(value.primary, device));
    }
    validateReduceOp(op);
    this.#requireReducible([value]);
    const pair: ReadyPair = [value, destinations];
    if (isUnique) return (await this.#inOrder(resolved, (call) => this.#reduceBatch(op, [pair], call)))[0];
    const reduce = (call: ResolvedOptions) => this.reduceImplementation(op, value, destinations, call);
    return inGivenKind(inOrderOf(pair, await this.#inOrder(resolved, reduce)), value);
  }

  /**
   * Reduces each value to its destinations; results are in the order of the pairs. If every value
   * has a single component that is already on its destination, the components themselves are
   * returned. `into` provides memory for the results, one value per pair, undefined for sparse
   * ones.
   * @throws ValueError, InvalidArgumentError and InternalError as `reduce`; ValueError for pairs
   * that are not an iterable of two-element arrays
   */
  batchReduce<Pair extends ValueDestinationPair, Op extends ReduceOp>(
    reduceOp: Op,
    valueDestinationPairs: Iterable<Pair>,
    options?: BatchReduceOptions,
  ): Promise<PossiblyMirrored<ReducedOnDevices<Pair[0], Op>>[]>;
  batchReduce(op: ReduceOp, given: Iterable<ValueDestinationPair>, options?: BatchReduceOptions) {
    return countingRefusals(this.#orderOfWorkers, this.#batchReduce(op, given, options)) as Promise<never>;
  }

  async #batchReduce(op: ReduceOp, given: Iterable<ValueDestinationPair>, options?: BatchReduceOptions) {
    this.#requireOpen('batch-reduce');
    const resolved = begunOptions('batch-reduce', options);
    return this.#reducePairs(op, readyPairs(given), resolved, intoOf(options));
  }

  async #reducePairs(op: ReduceOp, pairs: readonly ReadyPair[], resolved: ResolvedOptions, into?: readonly unknown[]) {
    const targets = resultTargets(op, pairs, into, resolved);
    requireNameEach(resolved, pairs.length);
    if (pairs.every(([value]) => this.#isWhole(value)) && allDevicesMatch(pairs)) {
      const own = pairs.map(([value]) => (resolved.deduplicate ? uniqueOf(value) : value.primary));
      return placedResults(pairs, own, targets);
    }
    validateReduceOp(op);
    this.#requireReducible(pairs.map(([value]) => value));
    const own = targets ? { ...resolved, targets: targetsInOrderOfValues(pairs, targets) } : resolved;
    return placedResults(pairs, await this.#inOrder(own, (call) => this.#reduceBatch(op, pairs, call)), targets);
  }

  /**
   * Copies a dense or sparse value to every destination. The value may be on any device.
   * @throws ValueError for destinations or a value of the wrong kind
   */
  async broadcast<V extends TensorLike | IndexedSlices>(value: V, destinations: Destinations) {
    this.#requireOpen('broadcast');
    validateDestinations(destinations);
    const source = asValue(value);
    const copies = await this.broadcastImplementation(source, destinations);
    return inGivenKind(copies, source) as PossiblyMirrored<ReducedValue<V>>;
  }

  /**
   * Joins the components along `axis`, in replica order, and puts the result on every destination.
   * @throws NotImplementedError for sparse values; ValueError for scalars, and for destinations,
   * options or values of the wrong kind; OutOfRangeError for an `axis` that the components do not
   * have; InvalidArgumentError if other dimensions differ; InternalError if dtypes differ
   */
  gather<V extends ReducibleLike>(
    perReplicaValue: V,
    destinations: Destinations,
    axis: number,
    options?: CallOptions,
  ): Promise<PossiblyMirrored<Extract<ReducedValue<V>, Tensor>>>;
  gather(given: ReducibleLike, destinations: Destinations, axis: number, options?: CallOptions) {
    return countingRefusals(this.#orderOfWorkers, this.#gather(given, destinations, axis, options)) as Promise<never>;
  }

  async #gather(given: ReducibleLike, destinations: Destinations, axis: number, options?: CallOptions) {
    this.#requireOpen('gather');
    requireNoSlices(given, 'gather');
    const resolved = begunOptions('gather', options, resolveWithoutInto);
    const value = asPerReplica(given) as DistributedValues<Tensor>;
    validateDestinations(destinations);
    if (this.#isWhole(value) && devicesMatch(value, destinations))
      return inGivenKind(copyToDevice(value.primary, getDevicesFrom(destinations)[0] as string) as Tensor);
    const gather = (call: ResolvedOptions) => this.gatherImplementation(value, destinations, axis, call);
    return inGivenKind(await this.#inOrder(resolved, gather), value);
  }

  /**
   * Called from inside a replica: combines the replica's value with those of all other replicas,
   * which must make the same call. `value` is a tensor, indexed slices or any structure of them,
   * with the same shapes on every replica. The result has the same structure.
   * @throws NotImplementedError if these ops were made without a world of replicas
   */
  async allReduce(
    reduceOp: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>> {
    const group = replicasOf(this, 'allReduce');
    return group.run(group.reduceCall(reduceOp, value, replicaId, options));
  }

  /**
   * Like `allReduce`, but blocks the thread; every replica must have a thread of its own.
   * @throws as `allReduce`; RuntimeError if replicas share the thread (ERR_COLL_CONTEXT), or if an
   * earlier call is under way (ERR_COLL_BUSY)
   */
  allReduceSync(
    reduceOp: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Structure<Value> {
    const group = replicasOf(this, 'allReduceSync');
    return group.runSync(group.reduceCall(reduceOp, value, replicaId, options));
  }

  /**
   * Whether these ops distinguish the devices of several tasks (workers). Default: false;
   * strategies then pass devices of one task.
   */
  get severalTasks(): boolean {
    return false;
  }

  /**
   * Number of workers that pass components of a value, equally many per worker. Default: 1, all
   * components are local.
   */
  protected get workerCount(): number {
    return 1;
  }

  /**
   * A communicator whose group orders the calls of these ops relative to other calls of the same
   * workers. Default: undefined, calls need no order.
   */
  protected get ordering(): Communicator | undefined {
    return undefined;
  }

  /** Describes these ops, and how they deviated from the request. */
  explain(): Explanation {
    return { name: this.name, engine: this.#engine, engines: this.#engines, notes: [...this.#notes] };
  }

  get #orderOfWorkers(): CallOrder | undefined {
    return (this.replicaGroup?.group ?? this.ordering?.group)?.order;
  }

  /** Counts calls that replicas of this worker have refused before they began; `error` ended the last. */
  refused(error: unknown, times: number): void {
    this.#orderOfWorkers?.refuse(error, times);
  }

  /**
   * Executes a call of the local replicas that their group has validated and compared.
   * @throws the errors of `reduce` and `gather`
   */
  perform(batch: Batch, call: ResolvedOptions): Work<ValueLists> {
    this.#requireOpen(batch.request.kind);
    if (this.#collectives) return this.#collectives.perform(batch, call);
    if (batch.inputs.length === 1 && this.workerCount === 1 && !this.#hasOthers)
      return workDone(aloneResults(batch, call.deduplicate));
    const work = isDense(batch) ? this.denseWork(batch, call) : undefined;
    if (this.workerCount === 1 && this.#hasOthers) return reachingAll(this.name, work);
    return work ?? this.hookWork(batch, call);
  }

  /** Fills in options that a replica's call leaves out. Default: returns `call` unchanged. */
  withDefaults(call: ResolvedOptions): ResolvedOptions {
    return call;
  }

  /** Like `perform`, for work that blocks the thread. */
  performSync(batch: Batch, call: ResolvedOptions): Work<ValueLists> {
    return this.perform(batch, call);
  }

  /**
   * Describes an all-reduce of dense values that are all local, or of which each worker passes the
   * components of its own replicas. Undefined if `batchReduceImplementation` must serve them, which
   * is the default.
   */
  protected denseWork(_batch: DenseBatch, _call: ResolvedOptions): Work<ValueLists> | undefined {
    return undefined;
  }

  /** Describes a batch as a call of `batchReduceImplementation` or another method that plug-ins override. */
  protected hookWork(batch: Batch, call: ResolvedOptions): Work<ValueLists> {
    const { inputs } = batch;
    return stepOf(this.ordering, async ({ turn }) => {
      const own = turn ? { ...call, turn } : call;
      return resultsByHooks(batch, {
        reduce: (op, values) => {
          this.#requireReducible(values);
          const pairs = values.map((value): ReadyPair => [value, value]);
          return this.#reduceBatch(op, pairs, own);
        },
        gather: (value, axis) => this.gatherImplementation(value, value, axis, own),
        broadcast: (root, like) => this.broadcastValues(inputs as readonly (readonly Tensor[])[], root, like, own),
      });
    });
  }

  /** Closes these ops: later calls are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.replicaGroup?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Reduces a value that has several components, or a single one that is not on its destination.
   * Dense components agree in shape and dtype.
   */
  protected abstract reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored>;

  /**
   * Reduces each value; results are in the order of the pairs. Default: one reduce after the other.
   */
  protected async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const results: PossiblyMirrored[] = [];
    for (const [index, [value, destinations]] of pairs.entries()) {
      results.push(await this.reduceImplementation(op, value, destinations, optionsAt([index], call)));
    }
    return results;
  }

  /**
   * Calls a function whose errors state indices of local components. Ops with several workers
   * translate these indices to replica numbers across all workers.
   */
  protected inReplicaNumbers<Result>(call: () => Result): Result {
    return call();
  }

  /** Copies a value to every destination. */
  protected async broadcastImplementation(value: Value, destinations: Destinations): Promise<PossiblyMirrored> {
    return mirror(getDevicesFrom(destinations).map((device) => copyToDevice(value, device)));
  }

  /**
   * Joins the components along `axis` and puts the result on every destination. `value` has several
   * components, or a single one that is not on its destination.
   */
  protected async gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    const gathered = concatAlong(value.values, axis);
    return (await this.placeResult(gathered, destinations, call)) as PossiblyMirrored<Tensor>;
  }

  /**
   * Puts a new value on its destinations: copies, or the value itself if components may share
   * memory.
   */
  protected async placeResult(
    value: Value,
    destinations: Destinations,
    { sharedResult }: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    if (!sharedResult) return this.broadcastImplementation(value, destinations);
    return mirror(getDevicesFrom(destinations).map((device) => viewOnDevice(value, device)));
  }

  /**
   * Copies each value of replica `root` to the devices of the value at the same index in `like`.
   * The default implementation requires that `root` is a local replica.
   */
  protected async broadcastValues(
    inputs: readonly (readonly Tensor[])[],
    root: number,
    like: readonly PerReplica<Value>[],
    call: ResolvedOptions,
  ): Promise<readonly PossiblyMirrored[]> {
    return this.placeCopies(inputs[root] as readonly Tensor[], like, call);
  }

  /** Copies each value to the devices of the value at the same index in `like`. */
  protected placeCopies(values: readonly Tensor[], like: readonly PerReplica<Value>[], call: ResolvedOptions) {
    const place = (value: Tensor, index: number) => {
      const own = call.sharedResult && !value.memory ? copyToDevice(value, value.device) : value;
      return this.placeResult(own, like[index] as PerReplica<Value>, call);
    };
    return Promise.all(values.map(place));
  }

  /** Records a remark for `explain()`; returns whether it is new. */
  protected note(remark: string): boolean {
    return this.#notes.size < this.#notes.add(remark).size;
  }

  #reduceBatch(op: ReduceOp, pairs: readonly ReadyPair[], call: ResolvedOptions): Promise<PossiblyMirrored[]> {
    if (!call.deduplicate) return this.batchReduceImplementation(op, pairs, call);
    const { targets: _, ...others } = call;
    return reduceUnique(op, pairs, others, {
      workerCount: this.workerCount,
      reduce: (...args) => this.batchReduceImplementation(...args),
      place: (...args) => this.placeResult(...args),
    });
  }

  /** Whether a value has exactly one component here, and there are no other workers. */
  #isWhole({ values }: DistributedValues): boolean {
    return values.length === 1 && this.workerCount === 1;
  }

  #requireOpen(operation: string): void {
    if (this.#isClosed) throw closedOps(this.name, operation);
  }

  #requireReducible(values: readonly DistributedValues<Value>[]): void {
    this.inReplicaNumbers(() => values.forEach(requireReducible));
  }

  /** Runs a call after all earlier calls, or at once if it is a part of an earlier call. */
  #inOrder<Result>(call: ResolvedOptions, run: (call: ResolvedOptions) => Promise<Result>): Promise<Result> {
    const order = call.turn ? undefined : this.ordering?.group.order;
    return order ? order.hold((turn) => run({ ...call, turn })) : run(call);
  }
}

Object.defineProperty(CrossDeviceOps.prototype, brand, { value: true });

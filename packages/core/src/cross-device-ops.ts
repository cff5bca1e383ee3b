import { begunOptions, type CallOptions, type ResolvedOptions } from './call-options.js';
import { concatAlong } from './concat-along.js';
import {
  allDevicesMatch,
  type Destinations,
  devicesMatch,
  getDevicesFrom,
  validateDestinations,
} from './destinations.js';
import { DistributedValues } from './distributed-values.js';
import type { EngineCandidate } from './engine.js';
import { NotImplementedError, RuntimeError } from './errors.js';
import type { Explanation } from './explanation.js';
import { requireWorld, type World } from './plugins/world.js';
import { type ReduceOp, validateReduceOp } from './reduce-op.js';
import {
  asPerReplica,
  hasIndexedSlices,
  type PossiblyMirrored,
  type ReadyPair,
  type ReducibleLike,
  readyPairs,
  requireReducible,
  type ValueDestinationPair,
} from './reducible.js';
import { mirror } from './regroup.js';
import { LocalReplicaGroup } from './replicas/local-replica-group.js';
import type { ReplicaCallOptions, ReplicaValue } from './replicas/replica-call.js';
import { RemoteReplicaGroup, type ReplicaGroup, type ReplicaPlay } from './replicas/replica-group.js';
import {
  type BatchReduceOptions,
  inOrderOf,
  inTargets,
  type ReduceOptions,
  resultTargets,
  targetsInOrderOfValues,
} from './result-targets.js';
import type { IndexedSlices } from './sparse/indexed-slices.js';
import { reduceUnique, uniqueOf } from './sparse/reduce-unique.js';
import { asValue, copyToDevice, isIndexedSlices, type Value, viewOnDevice } from './sparse/sparse.js';
import type { Structure } from './structure.js';
import type { Tensor, TensorLike } from './tensor.js';

const brand = Symbol.for('@coll/core.cross-device-ops');

/**
 * Reduces, broadcasts and gathers values over devices. Users call the public methods, which check their arguments before any
 * byte moves and take the shortcuts; plug-ins extend the class and implement the protected ones. Inputs are never changed.
 */
export abstract class CrossDeviceOps implements AsyncDisposable {
  // The parent class asks for the brand, which ops of other copies of the library have too; its children ask as usual.
  static [Symbol.hasInstance](value: unknown): boolean {
    if (Object.getPrototypeOf(this) === Function.prototype) {
      return typeof value === 'object' && value !== null && brand in value;
    }
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }

  abstract readonly name: string;
  /** Collectives from inside the replicas, for ops that were made for a world of them. */
  readonly replicaGroup: ReplicaGroup | undefined;
  readonly #engines: readonly EngineCandidate[];
  readonly #notes = new Set<string>();
  #isClosed = false;

  /** With a world, `play` is what its replicas do when they call from inside. */
  constructor(world?: World, play?: ReplicaPlay) {
    requireWorld(world);
    this.#engines = world?.resolution?.candidates ?? [];
    if (world && play) this.replicaGroup = this.#openReplicaGroup(world, play);
  }

  /**
   * Combines the components of a value and puts the result on every destination: `Mirrored`, or the bare value for one device.
   * Where the value has one component, already in place, the result is a copy, and `reduceOp` is not looked at. `into` names memory for it.
   * @throws ValueError for destinations, ops, options or values of the wrong kind; InvalidArgumentError and InternalError
   * where components differ in shape or dtype
   */
  async reduce(
    reduceOp: ReduceOp,
    perReplicaValue: ReducibleLike,
    destinations: Destinations,
    options?: ReduceOptions,
  ): Promise<PossiblyMirrored> {
    this.#requireOpen('reduce');
    const resolved = begunOptions('reduce', options);
    const value = asPerReplica(perReplicaValue);
    validateDestinations(destinations);
    if (options && 'into' in options && options.into !== undefined) {
      const into = [options.into];
      return (await this.batchReduce(reduceOp, [[value, destinations]], { ...options, into }))[0] as PossiblyMirrored;
    }
    const isUnique = resolved.deduplicate && isIndexedSlices(value);
    if (this.#isWhole(value) && devicesMatch(value, destinations)) {
      const [device] = getDevicesFrom(destinations) as readonly [string];
      return isUnique ? viewOnDevice(uniqueOf(value), device) : copyToDevice(value.primary, device);
    }
    validateReduceOp(reduceOp);
    this.inReplicaNumbers(() => requireReducible(value));
    if (isUnique) return (await this.#reduceBatch(reduceOp, [[value, destinations]], resolved))[0] as PossiblyMirrored;
    return inOrderOf([value, destinations], await this.reduceImplementation(reduceOp, value, destinations, resolved));
  }

  /**
   * Reduces each value to its destinations; results in the order of the pairs. Where each value has one component, already in place,
   * the components themselves come back. `into` names memory for the results, one value a pair; sparse ones have none.
   * @throws as `reduce`; ValueError for pairs that are not an iterable of two-element arrays
   */
  async batchReduce(
    reduceOp: ReduceOp,
    valueDestinationPairs: Iterable<ValueDestinationPair>,
    options?: BatchReduceOptions,
  ): Promise<PossiblyMirrored[]> {
    this.#requireOpen('batch-reduce');
    const resolved = begunOptions('batch-reduce', options);
    const pairs = readyPairs(valueDestinationPairs);
    for (const [, destinations] of pairs) validateDestinations(destinations);
    const targets = resultTargets(reduceOp, pairs, options);
    if (pairs.every(([value]) => this.#isWhole(value)) && allDevicesMatch(pairs)) {
      const own = pairs.map(([value]) => (resolved.deduplicate ? uniqueOf(value) : value.primary));
      return targets ? inTargets(own, targets) : own;
    }
    validateReduceOp(reduceOp);
    this.inReplicaNumbers(() => {
      for (const [value] of pairs) requireReducible(value);
    });
    const call = targets ? { ...resolved, targets: targetsInOrderOfValues(pairs, targets) } : resolved;
    const results = (await this.#reduceBatch(reduceOp, pairs, call)).map((result, index) =>
      inOrderOf(pairs[index] as ReadyPair, result),
    );
    return targets ? inTargets(results, targets) : results;
  }

  /** Copies of a value on every destination, part by part where it is sparse. It need not be on any of them. */
  async broadcast(value: TensorLike | IndexedSlices, destinations: Destinations): Promise<PossiblyMirrored> {
    this.#requireOpen('broadcast');
    validateDestinations(destinations);
    return this.broadcastImplementation(asValue(value), destinations);
  }

  /**
   * Joins the components along `axis`, in replica order, and puts the result on every destination.
   * @throws NotImplementedError for sparse values; InvalidArgumentError where other dimensions differ
   */
  async gather(
    perReplicaValue: ReducibleLike,
    destinations: Destinations,
    axis: number,
    options?: CallOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    this.#requireOpen('gather');
    if (hasIndexedSlices(perReplicaValue)) {
      const told = 'gather has no meaning for indexed slices: make them dense first';
      throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', told, { operation: 'gather' });
    }
    const resolved = begunOptions('gather', options);
    const value = asPerReplica(perReplicaValue) as DistributedValues<Tensor>;
    validateDestinations(destinations);
    if (this.#isWhole(value) && devicesMatch(value, destinations)) {
      return copyToDevice(value.primary, getDevicesFrom(destinations)[0] as string) as Tensor;
    }
    return this.gatherImplementation(value, destinations, axis, resolved);
  }

  /**
   * From inside a replica: combines its values with those of all other replicas, which make the same call. `value` is a tensor,
   * indexed slices or any structure of them, of the same shapes everywhere; the result has its structure.
   * @throws NotImplementedError where these ops were made without a world of replicas
   */
  async allReduce(
    reduceOp: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>> {
    return this.#replicas('allReduce').allReduce(reduceOp, value, replicaId, options);
  }

  /** `allReduce` that blocks the thread; only where every replica has a thread of its own. */
  allReduceSync(
    reduceOp: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Structure<Value> {
    return this.#replicas('allReduceSync').allReduceSync(reduceOp, value, replicaId, options);
  }

  /** Whether these ops tell the devices of several tasks (workers) from each other. Default: no, and strategies give them those of one. */
  get severalTasks(): boolean {
    return false;
  }

  /** How many workers hand in components of a value at the same time, each its own and as many as the others. Default: all are here. */
  protected get workerCount(): number {
    return 1;
  }

  /** What this object is and what it did otherwise than asked. */
  explain(): Explanation {
    const engine = this.replicaGroup?.engine ?? 'js';
    return { name: this.name, engine, engines: this.#engines, notes: [...this.#notes] };
  }

  /** Calls made from now on are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.replicaGroup?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** `value` has several components, or one that is elsewhere; its dense components agree in shape and dtype. */
  protected abstract reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored>;

  /** Results in the order of the pairs. Default: one reduce after the other. */
  protected async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const results: PossiblyMirrored[] = [];
    for (const [index, [value, destinations]] of pairs.entries()) {
      const own = call.targets ? { ...call, targets: [call.targets[index]] } : call;
      results.push(await this.reduceImplementation(op, value, destinations, own));
    }
    return results;
  }

  /** Calls a function whose errors count the components of a value; several workers count the replicas of all of them. */
  protected inReplicaNumbers<Result>(call: () => Result): Result {
    return call();
  }

  /** Copies of a value on every destination. */
  protected async broadcastImplementation(value: Value, destinations: Destinations): Promise<PossiblyMirrored> {
    return mirror(getDevicesFrom(destinations).map((device) => copyToDevice(value, device)));
  }

  /** The components joined along `axis`, on every destination. `value` has several components, or one that is elsewhere. */
  protected async gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    const gathered = concatAlong(value.values, axis);
    return (await this.placeResult(gathered, destinations, call)) as PossiblyMirrored<Tensor>;
  }

  /** Brings a new value to its destinations: copies of it, or itself where they may share it. */
  protected async placeResult(
    value: Value,
    destinations: Destinations,
    { sharedResult }: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    if (!sharedResult) return this.broadcastImplementation(value, destinations);
    return mirror(getDevicesFrom(destinations).map((device) => viewOnDevice(value, device)));
  }

  /** Keeps a remark for `explain()`; true the first time. */
  protected note(remark: string): boolean {
    if (this.#notes.has(remark)) return false;
    this.#notes.add(remark);
    return true;
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

  /** Whether a value has one component in all, of which nothing is elsewhere. */
  #isWhole({ values }: DistributedValues): boolean {
    return values.length === 1 && this.workerCount === 1;
  }

  #requireOpen(operation: string): void {
    if (!this.#isClosed) return;
    throw new RuntimeError('ERR_COLL_CLOSED', `${operation}: these ${this.name} ops were closed; create new ones`, {
      operation,
    });
  }

  #openReplicaGroup(world: World, play: ReplicaPlay): ReplicaGroup {
    if (world.localRanks.length === 1) return new RemoteReplicaGroup(world, play);
    return new LocalReplicaGroup(world, async (op, values, call) => {
      const pairs = values.map((value): ReadyPair => [value, value]);
      const results = await this.batchReduce(op, pairs, call);
      return world.devices.map((_, replica) =>
        results.map((result) => (result instanceof DistributedValues ? result.values[replica] : result) as Value),
      );
    });
  }

  #replicas(operation: string): ReplicaGroup {
    if (this.replicaGroup) return this.replicaGroup;
    const told = `${this.name} has no ${operation} from inside a replica: it was made without a world; create it through a strategy, or pass a world to its constructor`;
    throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', told, { operation });
  }
}

Object.defineProperty(CrossDeviceOps.prototype, brand, { value: true });

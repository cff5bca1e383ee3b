import { type CallOptions, type ResolvedOptions, resolveCallOptions } from './call-options.js';
import type { CollectiveOp } from './collective.js';
import { concatAlong } from './concat-along.js';
import {
  allDevicesMatch,
  type Destinations,
  devicesMatch,
  getDevicesFrom,
  validateDestinations,
} from './destinations.js';
import { DistributedValues, type Mirrored } from './distributed-values.js';
import type { EngineCandidate } from './engines.js';
import { NotImplementedError, RuntimeError } from './errors.js';
import type { IndexedSlices } from './indexed-slices.js';
import { LocalReplicaGroup } from './local-replica-group.js';
import type { World } from './plugin.js';
import { type ReduceOp, validateReduceOp } from './reduce-op.js';
import {
  asPerReplica,
  hasIndexedSlices,
  type ReadyPair,
  type ReducibleLike,
  readyPairs,
  requireReducible,
  type ValueDestinationPair,
} from './reducible.js';
import { mirror } from './regroup.js';
import type { ReplicaCallOptions, ReplicaValue } from './replica-call.js';
import { RemoteReplicaGroup, type ReplicaGroup } from './replica-group.js';
import type { Algorithm } from './schedule/schedule.js';
import { asValue, copyToDevice, type Value, viewOnDevice } from './sparse.js';
import type { Structure } from './structure.js';
import type { Tensor, TensorLike } from './tensor.js';

/** A value on one device, or one for each of several. */
export type PossiblyMirrored<T = Value> = T | Mirrored<T>;

/** What a `CrossDeviceOps` does and why, for people. */
export interface Explanation {
  readonly name: string;
  /** What does its arithmetic: `native`, `wasm`, `js`. */
  readonly engine: string;
  /** Who was asked to, the fastest first, and why those before the chosen one refused. */
  readonly engines: readonly EngineCandidate[];
  /** What did not go the way it was asked for, such as a fallback, each said once. */
  readonly notes: readonly string[];
}

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

  /** With a world, `algorithm` is what its replicas play when they call from inside. */
  constructor(world?: World, algorithm?: Algorithm) {
    this.#engines = world?.resolution?.candidates ?? [];
    if (world && algorithm) this.replicaGroup = this.#openReplicaGroup(world, algorithm);
  }

  /**
   * Combines the components of a value and puts the result on every destination: `Mirrored`, or the bare value for one device.
   * Where the value has one component, already in place, the result is a copy, and `reduceOp` is not looked at.
   * @throws ValueError for destinations, ops, options or values of the wrong kind; InvalidArgumentError and InternalError
   * where components differ in shape or dtype
   */
  async reduce(
    reduceOp: ReduceOp,
    perReplicaValue: ReducibleLike,
    destinations: Destinations,
    options?: CallOptions,
  ): Promise<PossiblyMirrored> {
    this.#requireOpen('reduce');
    const resolved = resolveCallOptions(options);
    const value = asPerReplica(perReplicaValue);
    validateDestinations(destinations);
    if (value.values.length === 1 && devicesMatch(value, destinations)) {
      return copyToDevice(value.primary, getDevicesFrom(destinations)[0] as string);
    }
    validateReduceOp(reduceOp);
    requireReducible(value);
    return this.reduceImplementation(reduceOp, value, destinations, resolved);
  }

  /**
   * Reduces each value to its destinations; results in the order of the pairs. Where each value has one component, already in place,
   * the components themselves come back.
   * @throws as `reduce`; ValueError for pairs that are not an iterable of two-element arrays
   */
  async batchReduce(
    reduceOp: ReduceOp,
    valueDestinationPairs: Iterable<ValueDestinationPair>,
    options?: CallOptions,
  ): Promise<PossiblyMirrored[]> {
    this.#requireOpen('batch-reduce');
    const resolved = resolveCallOptions(options);
    const pairs = readyPairs(valueDestinationPairs);
    for (const [, destinations] of pairs) validateDestinations(destinations);
    if (pairs.every(([value]) => value.values.length === 1) && allDevicesMatch(pairs))
      return pairs.map(([value]) => value.primary);
    validateReduceOp(reduceOp);
    for (const [value] of pairs) requireReducible(value);
    return this.batchReduceImplementation(reduceOp, pairs, resolved);
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
      throw new NotImplementedError(
        'ERR_COLL_NOT_IMPLEMENTED',
        'gather has no meaning for indexed slices: make them dense first',
        { operation: 'gather' },
      );
    }
    const resolved = resolveCallOptions(options);
    const value = asPerReplica(perReplicaValue) as DistributedValues<Tensor>;
    validateDestinations(destinations);
    if (value.values.length === 1 && devicesMatch(value, destinations)) {
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

  protected async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const results: PossiblyMirrored[] = [];
    for (const [value, destinations] of pairs)
      results.push(await this.reduceImplementation(op, value, destinations, call));
    return results;
  }

  protected async broadcastImplementation(value: Value, destinations: Destinations): Promise<PossiblyMirrored> {
    return mirror(getDevicesFrom(destinations).map((device) => copyToDevice(value, device)));
  }

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

  #requireOpen(operation: string): void {
    if (!this.#isClosed) return;
    throw new RuntimeError('ERR_COLL_CLOSED', `${operation}: these ${this.name} ops were closed; create new ones`, {
      operation,
    });
  }

  #openReplicaGroup(world: World, algorithm: Algorithm): ReplicaGroup {
    if (world.localRanks.length === 1) return new RemoteReplicaGroup(world, algorithm);
    return new LocalReplicaGroup(world, async (op, values, call) => {
      for (const value of values) requireReducible(value);
      const pairs = values.map((value): ReadyPair => [value, value]);
      const results = await this.batchReduceImplementation(op, pairs, call);
      return world.devices.map((_, replica) =>
        results.map((result) => (result instanceof DistributedValues ? result.values[replica] : result) as Value),
      );
    });
  }

  #replicas(operation: string): ReplicaGroup {
    if (this.replicaGroup) return this.replicaGroup;
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      `${this.name} has no ${operation} from inside a replica: it was made without a world; create it through a strategy, or pass a world to its constructor`,
      { operation },
    );
  }
}

Object.defineProperty(CrossDeviceOps.prototype, brand, { value: true });

/** The op of a collective for a reduce op. */
export function collectiveOp(op: ReduceOp): CollectiveOp {
  return op.toLowerCase() as CollectiveOp;
}

import type {
  ArrivingValue,
  CallOptions,
  DType,
  ReduceOp,
  ReduceOpLike,
  ReplicaCallOptions,
  ReplicaGroup,
  ReplicaValue,
  Tensor,
  Value,
} from '@coll/core';
import { type GroupCall, isArriving, nextTurn } from '@coll/core/internal';
import { reduceOpFrom } from '@coll/core/plugin';
import { requireReplica } from '../scope/contexts.js';
import { refused } from '../scope/refused-calls.js';
import type { MergeFunction, ReplicaContext, Strategy } from '../scope/strategy.js';
import type { Arriving, Movable, Reduced, ReducedLater, Reducible } from '../scope/structure-types.js';

/** Identifies a replica of a strategy. */
export interface ReplicaIdentity {
  readonly strategy: Strategy;
  readonly numReplicasInSync: number;
  readonly id: number;
  readonly device: string;
}

/** The identity of the replica at index `index` of this process. */
export function replicaAt(strategy: Strategy, index: number): ReplicaIdentity {
  const { firstReplica, workerDevices } = strategy.extended;
  const { numReplicasInSync } = strategy;
  return { strategy, numReplicasInSync, id: firstReplica + index, device: workerDevices[index] as string };
}

/** A replica whose calls go through a replica group. */
export abstract class GroupReplicaContext implements ReplicaContext {
  readonly strategy: Strategy;
  readonly numReplicasInSync: number;
  readonly replicaIdInSyncGroup: number;
  readonly devices: readonly [string];
  readonly #pending = new Set<Promise<unknown>>();
  /** Whether asynchronous calls were begun since `settle` has looked. */
  #hasCalled = false;
  /** Number of collectives that this replica has begun in the latest run. */
  protected calls = 0;
  readonly #track = <Result>(call: Promise<Result>) => this.track(call);

  constructor({ strategy, numReplicasInSync, id, device }: ReplicaIdentity) {
    this.strategy = strategy;
    this.numReplicasInSync = numReplicasInSync;
    this.replicaIdInSyncGroup = id;
    this.devices = [device];
  }

  /** The group of this replica's calls; undefined if the strategy's ops have none. */
  protected abstract get group(): ReplicaGroup | undefined;

  /** @throws NotImplementedError if the strategy's ops have no replica group */
  protected groupFor(_method: string): ReplicaGroup {
    return this.group as ReplicaGroup;
  }

  abstract mergeCall<Args extends readonly unknown[], Result>(
    fn: MergeFunction<Args, Result>,
    args?: readonly unknown[],
    kwargs?: Readonly<Record<string, unknown>>,
  ): Promise<Result>;

  abstract report(value: unknown): void;

  /**
   * The element-wise maxima of the numbers of all replicas, which read one dataset. Matches no call of
   * a program. Blocks the thread if it belongs to this replica alone, because that takes less time.
   */
  abstract maxForInput(numbers: Float64Array | Uint8Array): Tensor | Promise<Tensor>;

  get canBlock(): boolean {
    return this.groupFor('canBlock').canBlock;
  }

  allReduce<const T extends Reducible<T>, Op extends ReduceOpLike>(
    op: Op,
    value: T,
    options?: ReplicaCallOptions,
  ): Promise<Reduced<T, Op>>;
  allReduce<const V extends Arriving<V>, Op extends ReduceOpLike>(
    op: Op,
    value: V,
    options?: ReplicaCallOptions,
  ): ReducedLater<V, Op>;
  allReduce(op: ReduceOpLike, value: ArrivingValue, options?: ReplicaCallOptions): unknown {
    if (isArriving(value)) return this.#reduceArriving(op, value, options);
    try {
      const group = this.#requireGroup('allReduce');
      const id = this.replicaIdInSyncGroup;
      const call = group.reduceCall(reduceOpFrom(op), value as ReplicaValue, id, this.merged(options));
      this.#noteCall();
      return group.run(call, this.#track);
    } catch (error) {
      return Promise.reject(this.#refused(error));
    }
  }

  allReduceSync<const T extends Reducible<T>, Op extends ReduceOpLike>(
    op: Op,
    value: T,
    options?: ReplicaCallOptions,
  ): Reduced<T, Op> {
    let group: ReplicaGroup;
    let call: GroupCall;
    try {
      group = this.#requireGroup('allReduceSync');
      call = group.reduceCall(reduceOpFrom(op), value, this.replicaIdInSyncGroup, this.merged(options));
    } catch (error) {
      throw this.#refused(error);
    }
    this.calls += 1;
    return group.runSync(call) as Reduced<T, Op>;
  }

  allGather<const T extends Reducible<T>>(value: T, axis: number, options?: CallOptions): Promise<Reduced<T>> {
    return this.#make('allGather', (group) =>
      group.gatherCall(value, axis, this.replicaIdInSyncGroup, this.merged(options)),
    ) as Promise<Reduced<T>>;
  }

  allGatherSync<const T extends Reducible<T>>(value: T, axis: number, options?: CallOptions): Reduced<T> {
    return this.#makeSync('allGatherSync', (group) =>
      group.gatherCall(value, axis, this.replicaIdInSyncGroup, this.merged(options)),
    ) as Reduced<T>;
  }

  broadcast<const T extends Movable<T>>(value: T, root = 0, options?: ReplicaCallOptions): Promise<Reduced<T>> {
    return this.#make('broadcast', (group) =>
      group.broadcastCall(value, root, this.replicaIdInSyncGroup, this.merged(options)),
    ) as Promise<Reduced<T>>;
  }

  broadcastSync<const T extends Movable<T>>(value: T, root = 0, options?: ReplicaCallOptions): Reduced<T> {
    return this.#makeSync('broadcastSync', (group) =>
      group.broadcastCall(value, root, this.replicaIdInSyncGroup, this.merged(options)),
    ) as Reduced<T>;
  }

  /** Counts a call that this replica has refused with `error`. Replicas compare their counts in the next call. */
  refuse(error: unknown): void {
    this.group?.refuse(this.replicaIdInSyncGroup, error);
  }

  /**
   * The values of all replicas for a variable, combined by `op`; without an op, that of replica 0.
   * Matches no call of a program.
   */
  combineForVariable(op: ReduceOp | undefined, value: Value): Promise<Value> {
    const group = this.#requireGroup('variable');
    const call = this.#callForVariable(group, op, value);
    this.#noteCall();
    return group.run(call, this.#track) as Promise<Value>;
  }

  /** Like `combineForVariable`, but blocks the thread. */
  combineForVariableSync(op: ReduceOp | undefined, value: Value): Value {
    const group = this.#requireGroup('variable');
    const call = this.#callForVariable(group, op, value);
    this.calls += 1;
    return group.runSync(call) as Value;
  }

  #callForVariable(group: ReplicaGroup, op: ReduceOp | undefined, value: Value): GroupCall {
    const [id, options] = [this.replicaIdInSyncGroup, this.merged({})];
    const call = op ? group.reduceCall(op, value, id, options) : group.broadcastCall(value, 0, id, options);
    return group.ownCall('variable', call);
  }

  allocate<D extends DType>(dtype: D, shape: readonly number[]): Tensor<D> {
    return this.#requireGroup('allocate').allocate(dtype, shape, this.replicaIdInSyncGroup);
  }

  /**
   * Waits for calls that the replica began without awaiting them, and for the calls that follow
   * them. @throws their errors
   */
  async settle(): Promise<void> {
    while (this.#hasCalled || this.#pending.size > 0) {
      this.#hasCalled = false;
      await Promise.all(this.#pending);
      // Calls that follow one that ended at once, which is not tracked, begin before this turn.
      if (this.#pending.size === 0) await nextTurn();
    }
  }

  /** @throws RuntimeError unless this code runs in this replica */
  protected requireHere(method: string): void {
    requireReplica(this, method);
  }

  /**
   * The options of a call, with those of the strategy as defaults. This implementation returns them
   * unchanged, because the ops add the defaults.
   */
  protected merged<Options extends CallOptions>(call: Options | undefined): Options | undefined {
    return call;
  }

  /** Makes `settle` wait for a call. */
  protected track<Result>(call: Promise<Result>): Promise<Result> {
    // `finally` makes three promises.
    const tracked: Promise<Result> = call.then(
      (result) => {
        this.#pending.delete(tracked);
        return result;
      },
      (error) => {
        this.#pending.delete(tracked);
        throw error;
      },
    );
    this.#pending.add(tracked);
    return tracked;
  }

  /** Records that a call begins, which may end later. */
  #noteCall(): void {
    this.#hasCalled = true;
    this.calls += 1;
  }

  #reduceArriving(op: ReduceOpLike, value: ArrivingValue, options?: ReplicaCallOptions): unknown {
    let made: ReturnType<ReplicaGroup['runArriving']>;
    try {
      const group = this.#requireGroup('allReduce');
      made = group.runArriving(reduceOpFrom(op), value, this.replicaIdInSyncGroup, this.merged(options));
    } catch (error) {
      throw this.#refused(error);
    }
    this.calls += 1;
    const { results, ended } = made;
    this.track(ended).catch(() => {});
    return results;
  }

  #make(method: string, prepare: (group: ReplicaGroup) => GroupCall): Promise<unknown> {
    try {
      const group = this.#requireGroup(method);
      const call = prepare(group);
      this.#noteCall();
      return group.run(call, this.#track);
    } catch (error) {
      return Promise.reject(this.#refused(error));
    }
  }

  #makeSync(method: string, prepare: (group: ReplicaGroup) => GroupCall): unknown {
    let group: ReplicaGroup;
    let call: GroupCall;
    try {
      group = this.#requireGroup(method);
      call = prepare(group);
    } catch (error) {
      throw this.#refused(error);
    }
    this.calls += 1;
    return group.runSync(call);
  }

  /** Counts a call that was refused before it began. Returns the error. */
  #refused(error: unknown): unknown {
    return refused(this.strategy, error, this);
  }

  #requireGroup(method: string): ReplicaGroup {
    this.requireHere(method);
    return this.groupFor(method);
  }
}

import type { MessagePort } from 'node:worker_threads';
import {
  type ArrivingValue,
  type CallOptions,
  type CommunicationOptions,
  type CrossDeviceOps,
  type DType,
  InternalError,
  NotImplementedError,
  type ReduceOpLike,
  type ReplicaCallOptions,
  type ReplicaGroup,
  type ReplicaValue,
  regroup,
  type Structure,
  selectReplica,
  type Tensor,
  type TensorLike,
} from '@coll/core';
import { resolveCallOptions } from '@coll/core/internal';
import { reduceOpFrom } from '@coll/core/plugin';
import { requireReplica, runAcross } from './contexts.js';
import { ReducingReplica } from './reducing-replica.js';
import type { MergeFunction, ReplicaContext } from './replica-context.js';
import { requireMergeCall, requireRoot } from './replica-request.js';
import type { Strategy } from './strategy.js';
import type { Movable, Reduced, Reducible } from './structure-types.js';
import { encodeError } from './thread-errors.js';
import { type FromReplica, post, type ToReplica } from './thread-messages.js';
import { decode, encode } from './thread-values.js';

export interface ThreadReplica {
  /** Its number among the replicas of this process. */
  readonly replica: number;
  readonly strategy: Strategy;
  /** Made for the world of the replicas. */
  readonly ops: CrossDeviceOps;
  readonly port: MessagePort;
  /** For calls that the ops do not merge their own options into. */
  readonly defaults?: CommunicationOptions | undefined;
}

/** A replica in a thread of its own: collectives go through its ops, merge calls by message through the thread that started it. */
export class ThreadReplicaContext extends ReducingReplica implements ReplicaContext {
  readonly strategy: Strategy;
  readonly numReplicasInSync: number;
  readonly replicaIdInSyncGroup: number;
  readonly devices: readonly [string];
  readonly canBlock = true;
  readonly #ops: CrossDeviceOps;
  readonly #defaults: CommunicationOptions | undefined;
  readonly #port: MessagePort;
  readonly #merges: { readonly fn: MergeFunction; readonly met: Promise<void>; resolve(value: unknown): void }[] = [];
  readonly #pending = new Set<Promise<unknown>>();
  #mergeCount = 0;

  constructor({ replica, strategy, ops, port, defaults }: ThreadReplica) {
    super();
    this.strategy = strategy;
    this.numReplicasInSync = strategy.numReplicasInSync;
    this.replicaIdInSyncGroup = strategy.extended.firstReplica + replica;
    this.devices = [strategy.extended.workerDevices[replica] as string];
    this.#ops = ops;
    this.#defaults = defaults;
    this.#port = port;
    port.on('message', (message: ToReplica) => {
      if (message.type === 'hold') void this.#hold(message.args);
      else this.#merges.shift()?.resolve(decode(message.value));
    });
  }

  protected reduceReady(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Promise<unknown> {
    return this.#begin(async () => {
      requireReplica(this, 'allReduce');
      return this.#ops.allReduce(reduceOpFrom(op), value, this.replicaIdInSyncGroup, options);
    });
  }

  protected reduceArriving(op: ReduceOpLike, value: ArrivingValue, options?: ReplicaCallOptions): unknown {
    requireReplica(this, 'allReduce');
    const group = this.#group('allReduce');
    const { results, ended } = group.allReduceArriving(reduceOpFrom(op), value, this.replicaIdInSyncGroup, options);
    this.#begin(() => ended).catch(() => {});
    return results;
  }

  allReduceSync<const T extends Reducible<T>>(op: ReduceOpLike, value: T, options?: ReplicaCallOptions): Reduced<T> {
    requireReplica(this, 'allReduceSync');
    return this.#ops.allReduceSync(reduceOpFrom(op), value, this.replicaIdInSyncGroup, options) as Reduced<T>;
  }

  allGather<const T extends Reducible<T>>(value: T, axis: number, options?: CallOptions): Promise<Reduced<T>> {
    return this.#begin(async () => {
      requireReplica(this, 'allGather');
      return this.#group('allGather').allGather(value, axis, this.#merged(options)) as Promise<Reduced<T>>;
    });
  }

  broadcast<const T extends Movable<T>>(value: T, root = 0, options?: ReplicaCallOptions): Promise<Reduced<T>> {
    return this.#begin(async () => {
      requireReplica(this, 'broadcast');
      requireRoot(root, this.numReplicasInSync);
      return this.#group('broadcast').broadcast(value, root, this.#merged(options)) as Promise<Reduced<T>>;
    });
  }

  broadcastSync<const T extends Movable<T>>(value: T, root = 0, options?: ReplicaCallOptions): Reduced<T> {
    requireReplica(this, 'broadcastSync');
    requireRoot(root, this.numReplicasInSync);
    return this.#group('broadcastSync').broadcastSync(value, root, this.#merged(options)) as Reduced<T>;
  }

  allocate(dtype: DType, shape: readonly number[]): Tensor {
    requireReplica(this, 'allocate');
    return this.#group('allocate').allocate(dtype, shape);
  }

  mergeCall<Args extends readonly unknown[], Result>(
    fn: MergeFunction<Args, Result>,
    args?: readonly unknown[],
    kwargs?: Readonly<Record<string, unknown>>,
  ): Promise<Result> {
    return this.#begin(async () => {
      requireReplica(this, 'mergeCall');
      this.#say({ type: 'merge', args: encode(requireMergeCall(fn, args, kwargs)) }, 'an argument of a merge call');
      const met = this.#meet();
      const outcome = new Promise((resolve) => {
        this.#merges.push({ fn: fn as unknown as MergeFunction, met, resolve });
      });
      const [result] = await Promise.all([outcome, met]);
      return result as Result;
    });
  }

  report(value: unknown): void {
    this.#say({ type: 'report', value: encode(value) }, 'a report');
  }

  /** Waits for what the replica has begun without awaiting it. @throws what goes wrong with it */
  async settle(): Promise<void> {
    await Promise.all(this.#pending);
  }

  #begin<Result>(work: () => Promise<Result>): Promise<Result> {
    const result: Promise<Result> = work().finally(() => this.#pending.delete(result));
    this.#pending.add(result);
    return result;
  }

  /** Replica 0 runs its function for all. */
  async #hold(argsOfAll: readonly unknown[]): Promise<void> {
    try {
      const { fn, met } = this.#merges[0] as { fn: MergeFunction; met: Promise<void> };
      // What it does with other workers comes after what all replicas do, on every worker.
      if (this.strategy.extended.workers.size > 1) await met;
      const args = regroup(argsOfAll.map(decode) as Structure<unknown>[]) as readonly unknown[];
      const result = (await runAcross(this.strategy, () => fn(this.strategy, ...args))) as Structure<unknown>;
      const results = argsOfAll.map((_, replica) => encode(selectReplica(replica, result)));
      this.#say({ type: 'merged', results }, 'the result of a merge call');
    } catch (error) {
      this.#say({ type: 'mergeFailed', error: encodeError(error) }, 'an error');
    }
  }

  /**
   * A collective that a merge call does beside its messages, because replicas that do something else instead can only be noticed there.
   * @throws InternalError where another replica makes another call
   */
  async #meet(): Promise<void> {
    const group = this.#ops.replicaGroup;
    if (!group) return;
    this.#mergeCount = (this.#mergeCount % 1000) + 1;
    const mark = Float32Array.of(this.#mergeCount, -this.#mergeCount);
    const { data } = (await group.allReduce('SUM', mark, this.replicaIdInSyncGroup)) as Tensor;
    if (mark.every((number, index) => data[index] === number * this.numReplicasInSync)) return;
    throw new InternalError('ERR_COLL_MISMATCH', 'mergeCall: another replica makes another call', {
      operation: 'mergeCall',
    });
  }

  /** The options of a call, and under them those of the strategy. */
  #merged(call: ReplicaCallOptions | undefined): ReplicaCallOptions | undefined {
    if (!this.#defaults) return call;
    const { into } = (call ?? {}) as { readonly into?: Structure<TensorLike> };
    const { options, ...others } = resolveCallOptions(call);
    return { ...others, options: this.#defaults.merge(options), ...(into === undefined ? {} : { into }) };
  }

  #group(method: string): ReplicaGroup {
    if (this.#ops.replicaGroup) return this.#ops.replicaGroup;
    const told = `${this.#ops.name} has no ${method} from inside a replica: it was made without its world`;
    throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', told, { operation: method });
  }

  #say(message: FromReplica, what: string): void {
    post(this.#port, message, what);
  }
}

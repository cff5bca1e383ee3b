import type { MessagePort } from 'node:worker_threads';
import {
  type CallOptions,
  type CommunicationOptions,
  type CrossDeviceOps,
  InternalError,
  NotImplementedError,
  type ReplicaGroup,
  regroup,
  type Structure,
  selectReplica,
  type Tensor,
  type TensorLike,
} from '@coll/core';
import { resolveCallOptions } from '@coll/core/internal';
import { requireReplica, runAcross } from './contexts.js';
import { GroupReplicaContext, replicaAt } from './group-replica-context.js';
import { requireMergeCall } from './merge-call.js';
import type { MergeFunction } from './replica-context.js';
import type { Strategy } from './strategy.js';
import { encodeError } from './thread-errors.js';
import { type FromReplica, post, type ToReplica } from './thread-messages.js';
import { decode, encode } from './thread-values.js';

export interface ThreadReplica {
  /** Index among the replicas of this process. */
  readonly replica: number;
  readonly strategy: Strategy;
  /** The ops that connect this replica to the other replicas. */
  readonly ops: CrossDeviceOps;
  readonly port: MessagePort;
  /** Default options of calls that the ops do not merge with their own. */
  readonly defaults?: CommunicationOptions | undefined;
}

/**
 * A replica in its own thread. Its ops execute collectives; merge calls use messages to the parent
 * thread.
 */
export class ThreadReplicaContext extends GroupReplicaContext {
  readonly #ops: CrossDeviceOps;
  readonly #defaults: CommunicationOptions | undefined;
  readonly #port: MessagePort;
  readonly #merges: { readonly fn: MergeFunction; readonly met: Promise<void>; resolve(value: unknown): void }[] = [];
  #mergeCount = 0;

  constructor({ replica, strategy, ops, port, defaults }: ThreadReplica) {
    super(replicaAt(strategy, replica));
    this.#ops = ops;
    this.#defaults = defaults;
    this.#port = port;
    port.on('message', (message: ToReplica) => {
      if (message.type === 'hold') void this.#hold(message.args);
      else this.#merges.shift()?.resolve(decode(message.value));
    });
  }

  override get canBlock(): boolean {
    return true;
  }

  mergeCall<Args extends readonly unknown[], Result>(
    fn: MergeFunction<Args, Result>,
    args?: readonly unknown[],
    kwargs?: Readonly<Record<string, unknown>>,
  ): Promise<Result> {
    const merge = async () => {
      requireReplica(this, 'mergeCall');
      this.#say({ type: 'merge', args: encode(requireMergeCall(fn, args, kwargs)) }, 'an argument of a merge call');
      const met = this.#meet();
      const outcome = new Promise((resolve) => {
        this.#merges.push({ fn: fn as unknown as MergeFunction, met, resolve });
      });
      const [result] = await Promise.all([outcome, met]);
      return result as Result;
    };
    return this.track(merge());
  }

  report(value: unknown): void {
    this.#say({ type: 'report', value: encode(value) }, 'a report');
  }

  /** Runs replica 0's function of a merge call for all replicas. */
  async #hold(argsOfAll: readonly unknown[]): Promise<void> {
    try {
      const { fn, met } = this.#merges[0] as { fn: MergeFunction; met: Promise<void> };
      // On every worker, calls to other workers must follow the common call of all replicas.
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
   * The collective that a merge call runs in addition to its messages. It detects replicas that
   * make a different call instead of the merge call.
   * @throws InternalError if another replica makes a different call
   */
  async #meet(): Promise<void> {
    const group = this.#ops.replicaGroup;
    if (!group) return;
    this.#mergeCount = (this.#mergeCount % 1000) + 1;
    const mark = Float32Array.of(this.#mergeCount, -this.#mergeCount);
    const { data } = (await group.run(group.reduceCall('SUM', mark, this.replicaIdInSyncGroup))) as Tensor;
    if (mark.every((number, index) => data[index] === number * this.numReplicasInSync)) return;
    throw new InternalError('ERR_COLL_MISMATCH', 'mergeCall: another replica makes a different call', {
      operation: 'mergeCall',
    });
  }

  protected override merged<Options extends CallOptions>(call: Options | undefined): Options | undefined {
    if (!this.#defaults) return call;
    const { into } = (call ?? {}) as { readonly into?: Structure<TensorLike> };
    const { options, ...others } = resolveCallOptions(call);
    const own = into === undefined ? {} : { into };
    return { ...others, options: this.#defaults.merge(options), ...own } as unknown as Options;
  }

  protected groupFor(method: string): ReplicaGroup {
    if (this.#ops.replicaGroup) return this.#ops.replicaGroup;
    const told = `${this.#ops.name} cannot ${method} inside a replica, because it was created without a world`;
    throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', told, { operation: method });
  }

  #say(message: FromReplica, what: string): void {
    post(this.#port, message, what);
  }
}

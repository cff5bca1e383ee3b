import {
  type CallOptions,
  type CollError,
  type CommunicationOptions,
  type CrossDeviceOps,
  NotImplementedError,
  ReduceOp,
  type ReplicaGroup,
  RuntimeError,
  regroup,
  type Structure,
  selectReplica,
  type Tensor,
  type TensorLike,
} from '@coll/core';
import { type HostChannel, resolveCallOptions } from '@coll/core/internal';
import { deviceType, type Purpose } from '@coll/core/plugin';
import { GroupReplicaContext, replicaAt } from '../replicas/group-replica-context.js';
import { requireMergeCall } from '../replicas/merge-call.js';
import { runAcross } from '../scope/contexts.js';
import { countingRefusals } from '../scope/refused-calls.js';
import type { MergeFunction, Strategy } from '../scope/strategy.js';
import { encodeError, isMismatch } from './thread-errors.js';
import { type FromReplica, post, type ToReplica } from './thread-messages.js';
import { decode, encode } from './thread-values.js';

export interface ThreadReplica {
  /** Index among the replicas of this process. */
  readonly replica: number;
  readonly strategy: Strategy;
  /** The ops that connect this replica to the other replicas. */
  readonly ops: CrossDeviceOps;
  readonly port: HostChannel;
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
  readonly #port: HostChannel;
  readonly #merges: { readonly fn: MergeFunction; readonly met: Promise<void>; resolve(value: unknown): void }[] = [];
  /** Whether the latest run has ended and the next one has not begun. */
  #isBetweenRuns = false;

  constructor({ replica, strategy, ops, port, defaults }: ThreadReplica) {
    super(replicaAt(strategy, replica));
    this.#ops = ops;
    this.#defaults = defaults;
    this.#port = port;
    port.on('message', (message: ToReplica) => {
      if (message.type === 'hold') void this.#hold(message.args);
      if (message.type === 'outcome') this.#merges.shift()?.resolve(decode(message.value));
    });
  }

  /**
   * Runs the code of one run. Calls on this context are refused once the code and all calls that it
   * has made have ended.
   */
  async during<Result>(code: () => Result): Promise<Awaited<Result>> {
    this.#isBetweenRuns = false;
    this.calls = 0;
    try {
      const result = await code();
      await this.settle();
      return result;
    } finally {
      this.#isBetweenRuns = true;
    }
  }

  /** Whether the replicas can make further collectives: false if one has failed, and the module caught its error. */
  get canGoOn(): boolean {
    return !this.#ops.replicaGroup?.group?.failure;
  }

  /**
   * A collective that no program makes. If another replica still waits in a different collective, both get an error
   * instead of waiting for each other. Returns whether the replicas can make further collectives.
   * @throws RuntimeError if another replica makes a different call
   */
  async leave(): Promise<boolean> {
    const { replicaIdInSyncGroup: id } = this;
    if (!this.canGoOn) return false;
    try {
      // Another replica may go on for a long time after its last collective.
      await this.#meet('run end', { timeoutSeconds: 0 });
      return true;
    } catch (cause) {
      const { code, message, operation } = cause as CollError;
      if (!isMismatch(code)) return false;
      const text = `replicas made different numbers of collectives: replica ${id} has ended after ${this.calls} while another replica waits in collective ${this.calls + 1} of the run`;
      throw new RuntimeError('ERR_COLL_MERGE', `${text}: ${message}`, { rank: id, operation, cause });
    }
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
      this.requireHere('mergeCall');
      const { value, moved } = encode(requireMergeCall(fn, args, kwargs));
      this.#say({ type: 'merge', args: value }, 'an argument of a merge call', moved);
      this.calls += 1;
      const met = this.#meet('merge');
      const outcome = new Promise((resolve) => {
        this.#merges.push({ fn: fn as unknown as MergeFunction, met, resolve });
      });
      const [result] = await Promise.all([outcome, met]);
      return result as Result;
    };
    return this.track(countingRefusals(this.strategy, merge));
  }

  maxForInput(numbers: Float64Array | Uint8Array): Tensor | Promise<Tensor> {
    const method = 'shardForReplica';
    this.requireHere(method);
    const [group, id] = [this.groupFor(method), this.replicaIdInSyncGroup];
    const call = group.ownCall('input', group.reduceCall(ReduceOp.MAX, numbers, id, this.merged({})));
    // GPUs do not block threads, and a replica that has other calls under way must not.
    const canBlock = deviceType(this.devices[0]) === 'CPU' && !group.isBusy(id);
    return (canBlock ? group.runSync(call) : this.track(group.run(call))) as Tensor | Promise<Tensor>;
  }

  report(value: unknown): void {
    this.#requireRun('report');
    const encoded = encode(value);
    this.#say({ type: 'report', value: encoded.value }, 'a report', encoded.moved);
  }

  protected override requireHere(method: string): void {
    super.requireHere(method);
    this.#requireRun(method);
  }

  /** Runs replica 0's function of a merge call for all replicas. */
  async #hold(argsOfAll: readonly unknown[]): Promise<void> {
    try {
      const { fn, met } = this.#merges[0] as { fn: MergeFunction; met: Promise<void> };
      // On every worker, calls to other workers must follow the common call of all replicas.
      if (this.strategy.extended.workers.size > 1) await met;
      const args = regroup(argsOfAll.map(decode) as Structure<unknown>[]) as readonly unknown[];
      const result = (await runAcross(this.strategy, () => fn(this.strategy, ...args))) as Structure<unknown>;
      const encoded = argsOfAll.map((_, replica) => encode(selectReplica(replica, result)));
      const results = encoded.map(({ value }) => value);
      const moved = encoded.flatMap((each) => each.moved);
      this.#say({ type: 'merged', results }, 'the result of a merge call', moved);
    } catch (error) {
      this.#say({ type: 'mergeFailed', error: encodeError(error) }, 'an error');
    }
  }

  /**
   * A collective that accompanies messages, to detect replicas that make a different call instead.
   * @throws InternalError if another replica makes a different call
   */
  async #meet(purpose: Purpose, options?: CallOptions): Promise<void> {
    const group = this.#ops.replicaGroup;
    if (!group) return;
    // NCCL, which does not compare calls, does not reduce this dtype, so the call never meets one of NCCL.
    const value = new Int16Array(1);
    const call = group.reduceCall(ReduceOp.MAX, value, this.replicaIdInSyncGroup, options);
    await group.run(group.ownCall(purpose, call));
  }

  #requireRun(method: string): void {
    if (!this.#isBetweenRuns) return;
    const advice = 'make this call before the function of the replica returns';
    throw new RuntimeError('ERR_COLL_CLOSED', `${method}: the run of this replica has ended: ${advice}`, {
      operation: method,
      rank: this.replicaIdInSyncGroup,
    });
  }

  protected override merged<Options extends CallOptions>(call: Options | undefined): Options | undefined {
    if (!this.#defaults) return call;
    const { into } = (call ?? {}) as { readonly into?: Structure<TensorLike> };
    const { options, ...others } = resolveCallOptions(call);
    const own = into === undefined ? {} : { into };
    return { ...others, options: this.#defaults.merge(options), ...own } as unknown as Options;
  }

  protected get group(): ReplicaGroup | undefined {
    return this.#ops.replicaGroup;
  }

  protected override groupFor(method: string): ReplicaGroup {
    if (this.group) return this.group;
    const message = `${this.#ops.name} cannot ${method} inside a replica, because it was created without a world`;
    throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', message, { operation: method });
  }

  #say(message: FromReplica, what: string, moved?: readonly ArrayBuffer[]): void {
    post(this.#port, message, what, moved);
  }
}

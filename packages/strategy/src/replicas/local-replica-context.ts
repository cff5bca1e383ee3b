import {
  AbortedError,
  asTensor,
  NotImplementedError,
  ReduceOp,
  type ReplicaGroup,
  regroup,
  type Structure,
  selectReplica,
  type Tensor,
  ValueError,
} from '@coll/core';
import { type Joining, purposeName } from '@coll/core/internal';
import { requireReplica, runAcross } from '../scope/contexts.js';
import { refused } from '../scope/refused-calls.js';
import type { RunOptions } from '../scope/run-options.js';
import type { MergeFunction, Strategy } from '../scope/strategy.js';
import { GroupReplicaContext, replicaAt } from './group-replica-context.js';
import { requireMergeCall } from './merge-call.js';
import type { ReplicaScheduler } from './replica-scheduler.js';

export interface LocalReplica {
  readonly strategy: Strategy;
  /** Index among the replicas of this thread. */
  readonly index: number;
  readonly group: ReplicaGroup;
  readonly scheduler: ReplicaScheduler;
  readonly onReport: RunOptions['onReport'];
}

interface MergeCall extends Joining {
  /** Runs a merge call of all replicas by calling replica 0's function once. */
  merge(calls: readonly MergeCall[]): Promise<readonly unknown[]>;
  readonly args: readonly unknown[];
}

interface InputCall extends Joining {
  readonly numbers: Float64Array | Uint8Array;
}

/** A replica that runs in this thread, alone or together with other replicas. */
export class LocalReplicaContext extends GroupReplicaContext {
  readonly #replica: LocalReplica;

  constructor(replica: LocalReplica) {
    super(replicaAt(replica.strategy, replica.index));
    this.#replica = replica;
  }

  protected get group(): ReplicaGroup {
    return this.#replica.group;
  }

  mergeCall<Args extends readonly unknown[], Result>(
    fn: MergeFunction<Args, Result>,
    args?: readonly unknown[],
    kwargs?: Readonly<Record<string, unknown>>,
  ): Promise<Result> {
    try {
      requireReplica(this, 'mergeCall');
      const call: MergeCall = {
        name: 'mergeCall',
        isExclusive: true,
        args: requireMergeCall(fn, args, kwargs),
        merge: (calls) => this.#merge(fn as unknown as MergeFunction, calls),
      };
      const { scheduler, index } = this.#replica;
      const results = scheduler.arrivals.join(index, call, (calls) => (calls[0] as MergeCall).merge(calls));
      return this.track(results) as Promise<Result>;
    } catch (error) {
      return Promise.reject(refused(this.strategy, error, this));
    }
  }

  maxForInput(numbers: Float64Array | Uint8Array): Promise<Tensor> {
    requireReplica(this, 'shardForReplica');
    const { scheduler, index } = this.#replica;
    const call: InputCall = { name: purposeName('input') as string, form: `${numbers.length}`, numbers };
    return this.track(scheduler.arrivals.join(index, call, (calls) => this.#maxForInput(calls)));
  }

  /** Combines the numbers of this worker's replicas, then those of all workers. */
  async #maxForInput(calls: readonly InputCall[]): Promise<readonly Tensor[]> {
    const { workers } = this.strategy.extended;
    const here = asTensor((calls[0] as InputCall).numbers.slice());
    for (const { numbers } of calls)
      numbers.forEach((number, at) => {
        here.data[at] = Math.max(here.data[at] as number, number);
      });
    const all = await workers.allReduceFor('input', ReduceOp.MAX, here);
    return calls.map(() => all);
  }

  async #merge(fn: MergeFunction, calls: readonly MergeCall[]): Promise<readonly unknown[]> {
    const args = regroup(calls.map((call) => call.args) as readonly Structure<unknown>[]) as readonly unknown[];
    const result = (await runAcross(this.strategy, () => fn(this.strategy, ...args))) as Structure<unknown>;
    return calls.map((_, index) => selectReplica(index, result));
  }

  /**
   * Calls `onReport`. An error that it throws ends the run, because it is an error of the caller.
   */
  report(value: unknown): void {
    const { scheduler, onReport } = this.#replica;
    try {
      runAcross(this.strategy, () => onReport?.(this.replicaIdInSyncGroup, value));
    } catch (error) {
      scheduler.fail(error);
    }
  }

  /** Lets an error in a collective end the run, even for a replica that does not await the call. */
  protected override track<Result>(call: Promise<Result>): Promise<Result> {
    const { group, scheduler } = this.#replica;
    const tracked = super.track(call);
    tracked.catch((error: unknown) => {
      // If replicas share a thread, the scheduler learns of the error at their rendezvous.
      if (group.canBlock && !isOwn(error)) scheduler.fail(error);
    });
    return tracked;
  }

  override async settle(): Promise<void> {
    // The scheduler already has the error.
    await super.settle().catch(() => {});
  }
}

/** Whether an error concerns only this replica's call, so that other replicas do not notice it. */
function isOwn(error: unknown): boolean {
  return [AbortedError, NotImplementedError, RangeError, ValueError].some((kind) => error instanceof kind);
}

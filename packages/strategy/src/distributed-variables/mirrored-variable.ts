import {
  IndexedSlices,
  InternalError,
  NotImplementedError,
  PerReplica,
  ReduceOp,
  RuntimeError,
  type Tensor,
  tensor,
  tensorSymbol,
  type Value,
} from '@coll/core';
import type { GroupReplicaContext } from '../replicas/group-replica-context.js';
import { currentFrame } from '../scope/contexts.js';
import { countingRefusals } from '../scope/refused-calls.js';
import type { ReplicaContext } from '../scope/strategy.js';
import { applyChange, type Change, changeValue } from '../variables/change.js';
import type { LocalVariable } from '../variables/local-variable.js';
import { DistributedVariable } from './distributed-variable.js';

/**
 * A variable whose components stay equal, because values that replicas write are combined first.
 *
 * @example
 * ```ts
 * import { MirroredStrategy, MirroredVariable, variable } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const weights = strategy.scope(() => variable([1, 2], { aggregation: 'mean' }));
 * await strategy.run(({ replicaIdInSyncGroup }) => weights.assignAdd([replicaIdInSyncGroup, 0]));
 * console.log(weights instanceof MirroredVariable); // true
 * console.log(weights.read().data); // Float64Array(2) [ 1.5, 2 ]
 * ```
 */
export class MirroredVariable extends DistributedVariable {
  readonly kind = 'MirroredVariable';

  get isMirrored(): boolean {
    return true;
  }

  getCrossReplica(): LocalVariable {
    return this.getOnDeviceOrPrimary();
  }

  read(): Tensor {
    return this.get().read();
  }

  [tensorSymbol](): Tensor {
    return this.get()[tensorSymbol]();
  }

  /** Makes a change. Inside replicas, first combines the values of all replicas. */
  protected async change(change: Change, value: unknown): Promise<this> {
    if (this.#isTogether) await countingRefusals(this.strategy, () => this.#changeTogether(change, value));
    else this.#changeAlone(change, value);
    return this;
  }

  /**
   * Like `change`, but blocks the thread of a replica instead of waiting.
   * @throws RuntimeError if replicas share the thread
   */
  protected changeSync(change: Change, value: unknown): this {
    if (this.#isTogether) countingRefusals(this.strategy, () => this.#changeTogetherSync(change, value));
    else this.#changeAlone(change, value);
    return this;
  }

  /** Whether a change is one of all replicas. */
  get #isTogether(): boolean {
    return currentFrame()?.replica !== undefined && this.aggregation !== 'NONE';
  }

  #changeAlone(change: Change, value: unknown): void {
    this.#requireMeaning(change);
    const component = this.local(change);
    if (component) applyChange(component[tensorSymbol](), change, changeValue(this, change, value));
    else this.changeAll(change, value);
  }

  async #changeTogether(change: Change, value: unknown): Promise<void> {
    const replica = this.#requireReplica(change);
    const ready = changeValue(this, change, value);
    if (this.isOfThread) {
      const [op, mine] = this.#inThreads(replica, ready);
      applyChange(this.primary[tensorSymbol](), change, await replica.combineForVariable(op, mine));
      return;
    }
    // A list of numbers would be regrouped element by element.
    const args: readonly unknown[] = [this, change, Array.isArray(value) ? ready : value];
    await replica.mergeCall((_, ...merged) => this.#merge(merged), args);
  }

  #changeTogetherSync(change: Change, value: unknown): void {
    const replica = this.#requireReplica(change);
    if (!this.isOfThread) {
      const advice = `await ${change}(...), or run the replicas in worker threads`;
      const message = `${change}Sync would block the thread that all replicas share: ${advice}`;
      throw new RuntimeError('ERR_COLL_CONTEXT', message, { operation: change });
    }
    const [op, mine] = this.#inThreads(replica, changeValue(this, change, value));
    applyChange(this.primary[tensorSymbol](), change, replica.combineForVariableSync(op, mine));
  }

  /** The replica that makes a change. @throws NotImplementedError; RuntimeError for another strategy's replica */
  #requireReplica(change: Change): GroupReplicaContext {
    this.#requireMeaning(change);
    this.local(change);
    return currentFrame()?.replica as GroupReplicaContext;
  }

  /**
   * The reduce op and the value that this replica contributes to the update. Without an op, replica
   * 0's value is broadcast.
   */
  #inThreads({ replicaIdInSyncGroup }: ReplicaContext, value: Value): readonly [ReduceOp | undefined, Value] {
    if (this.aggregation !== 'ONLY_FIRST_REPLICA') return [ReduceOp.fromVariableAggregation(this.aggregation), value];
    if (!(value instanceof IndexedSlices)) return [undefined, value];
    // Rows are the same on all replicas, so only one contributes them.
    return [ReduceOp.SUM, replicaIdInSyncGroup === 0 ? value : withoutRows(value)];
  }

  /** Makes the change that all replicas of one thread have requested. */
  async #merge([variable, change, value]: readonly unknown[]): Promise<void> {
    if (variable !== this || typeof change !== 'string') {
      const message = `replicas change different variables, or by different methods: replica 0 changes "${this.name}"`;
      throw new InternalError('ERR_COLL_MISMATCH', message, { operation: 'mergeCall' });
    }
    this.changeAll(change as Change, await this.#aggregate(change as Change, value));
  }

  async #aggregate(change: Change, value: unknown): Promise<unknown> {
    const { extended } = this.strategy;
    const ready = (item: unknown) => changeValue(this, change, item);
    if (this.aggregation === 'ONLY_FIRST_REPLICA') {
      const [first] = this.strategy.experimentalLocalResults(value);
      return extended.workers.size === 1 ? extended.broadcastTo(first, this) : this.#ofFirstWorker(ready(first));
    }
    const op = ReduceOp.fromVariableAggregation(this.aggregation);
    return extended.reduceTo(op, this.#reducible(value, ready), this, { sharedResult: true });
  }

  #reducible(value: unknown, ready: (item: unknown) => Value): unknown {
    if (value instanceof PerReplica) return new PerReplica(value.values.map(ready));
    const { workers, workerDevices } = this.strategy.extended;
    // A value that is equal on all local replicas may differ on other workers, so each contributes
    // its own.
    if (workers.size > 1) {
      const local = this.strategy.experimentalLocalResults(value);
      return new PerReplica(workerDevices.map((_, index) => ready(local[index] ?? local[0])));
    }
    return typeof value === 'number' && this.strategy.numReplicasInSync === 1 ? ready(value) : value;
  }

  /** The value that the first replica of the first worker passed. */
  async #ofFirstWorker(mine: Value): Promise<Value> {
    const { extended } = this.strategy;
    const { workers, firstReplica, workerDevices, defaultDevice } = extended;
    if (!(mine instanceof IndexedSlices)) return (await workers.broadcast([mine], 0))[0] as Tensor;
    // Rows are the same on all replicas, so only one contributes them.
    const rows = workerDevices.map((_, index) => (firstReplica + index === 0 ? mine : withoutRows(mine)));
    return extended.reduceTo(ReduceOp.SUM, new PerReplica(rows), defaultDevice) as Promise<Value>;
  }

  #requireMeaning(change: Change): void {
    const isOfOne = this.aggregation === 'NONE' || this.aggregation === 'ONLY_FIRST_REPLICA';
    if (isOfOne || !['scatterMin', 'scatterMax', 'scatterUpdate'].includes(change)) return;
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      `${change} of variable "${this.name}" is not defined for aggregation ${this.aggregation}, only for NONE and ONLY_FIRST_REPLICA`,
      { operation: change },
    );
  }
}

function withoutRows({ values, indices, denseShape }: IndexedSlices): IndexedSlices {
  const { dtype, shape } = values;
  const none = tensor(values.data.subarray(0, 0), { dtype, shape: [0, ...shape.slice(1)] });
  return new IndexedSlices(none, tensor(indices.data.subarray(0, 0), { dtype: indices.dtype }), denseShape);
}

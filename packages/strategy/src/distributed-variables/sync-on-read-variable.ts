import {
  DistributedValues,
  Mirrored,
  NotImplementedError,
  ReduceOp,
  type Tensor,
  tensorSymbol,
  ValueError,
} from '@coll/core';
import { asGiven, componentOf, fromAccumulator, toAccumulator } from '@coll/core/internal';
import { combine, divide } from '@coll/core/plugin';
import { refused } from '../scope/refused-calls.js';
import { applyChange, type Change, changeValue, isScatter } from '../variables/change.js';
import type { LocalVariable } from '../variables/local-variable.js';
import { DistributedVariable } from './distributed-variable.js';
import { shareOf } from './shares.js';

/**
 * A variable that each replica changes independently, for counts and metrics. Outside of replicas,
 * its value combines all components.
 *
 * @example
 * ```ts
 * import { MirroredStrategy, SyncOnReadVariable, variable } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const options = { synchronization: 'on_read', aggregation: 'sum' } as const;
 * const seen = strategy.scope(() => variable(0, options));
 * await strategy.run(({ replicaIdInSyncGroup }) => seen.assignAdd(10 + replicaIdInSyncGroup));
 * console.log(seen instanceof SyncOnReadVariable, seen.read().data); // true Float64Array(1) [ 21 ]
 * ```
 */
export class SyncOnReadVariable extends DistributedVariable {
  readonly kind = 'SyncOnReadVariable';

  get isMirrored(): boolean {
    return false;
  }

  getCrossReplica(): LocalVariable {
    if (this.aggregation === 'ONLY_FIRST_REPLICA') return this.primary;
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      `variable "${this.name}" has a separate value on each replica; read() returns the combined value`,
    );
  }

  /**
   * The component of the current replica; in cross-replica context, all components combined in
   * replica order.
   * @throws ValueError in cross-replica context for aggregation NONE
   */
  read(): Tensor {
    return this.#here()?.read() ?? asGiven(this.#aggregate(), this.primary[tensorSymbol]());
  }

  [tensorSymbol](): Tensor {
    return this.#here()?.[tensorSymbol]() ?? this.#aggregate();
  }

  /** Like `changeSync`: the change is done when the call returns. */
  protected async change(change: Change, value: unknown): Promise<this> {
    return this.changeSync(change, value);
  }

  /** Inside a replica, changes the replica's own component; outside, all components. */
  protected changeSync(change: Change, value: unknown): this {
    if (isScatter(change)) throw noScatter(this.name, change);
    const component = this.local(change);
    if (component) applyChange(component[tensorSymbol](), change, changeValue(this, change, value));
    else if (this.aggregation === 'SUM') this.changeAll(change, this.#shares(change, value));
    else this.changeAll(change, value);
    return this;
  }

  /** The component of the current replica; undefined in cross-replica context. */
  #here(): LocalVariable | undefined {
    try {
      return this.local('read');
    } catch (error) {
      throw refused(this.strategy, error);
    }
  }

  #aggregate(): Tensor {
    const { extended, numReplicasInSync } = this.strategy;
    const { workers } = extended;
    if (this.aggregation === 'ONLY_FIRST_REPLICA') return workers.broadcastSync(this.primary.read(), 0);
    if (this.aggregation === 'NONE') {
      const message = `variable "${this.name}" has no value across replicas: the aggregation "NONE" has no reduce op`;
      throw new ValueError(
        'ERR_COLL_VALUE',
        `${message}; read the variable inside the replicas, or create it with another aggregation`,
        {
          operation: 'read',
        },
      );
    }
    const op = ReduceOp.fromVariableAggregation(this.aggregation);
    const components = this.values.map((component) => component[tensorSymbol]());
    if (workers.size === 1) return combine(op.toLowerCase() as Lowercase<ReduceOp>, components);
    const wide = components.map((component) => toAccumulator(component, 'sum'));
    const sum = workers.allReduceSync(ReduceOp.SUM, combine('sum', wide));
    return fromAccumulator(op === ReduceOp.MEAN ? divide(sum, numReplicasInSync) : sum, this.dtype);
  }

  /**
   * Divides a value between the replicas, because the components are later summed. A value that
   * differs between replicas is unchanged.
   * @throws ValueError for changes other than assignment
   */
  #shares(change: Change, value: unknown): unknown {
    if (change !== 'assign') {
      const advice = 'call the method inside the replicas, or use assign';
      const message = `${change} of variable "${this.name}" is not defined across replicas for aggregation SUM: ${advice}`;
      throw new ValueError('ERR_COLL_VALUE', message, { operation: change });
    }
    const isDistributed = value instanceof DistributedValues && !value.isVariable;
    if (isDistributed && !value.isMirrored) return value;
    const { extended, numReplicasInSync } = this.strategy;
    const share = (index: number) => {
      const whole = changeValue(this, change, isDistributed ? componentOf(value, index) : value) as Tensor;
      return shareOf(whole, extended.firstReplica + index, numReplicasInSync);
    };
    return new Mirrored(this.values.map((_, index) => share(index)));
  }
}

function noScatter(name: string, change: Change): NotImplementedError {
  const message = `${change}: variable "${name}" has synchronization ON_READ, which does not support scatter methods`;
  return new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', message, { operation: change });
}

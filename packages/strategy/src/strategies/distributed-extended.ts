import { optionsOf } from '@coll/core/internal';
import { distributedVariable, refusedVariable } from '../distributed-variables/create-variable.js';
import { DistributedVariable } from '../distributed-variables/distributed-variable.js';
import { requireVariable, updateComponents, updateFromReplica } from '../distributed-variables/update-variable.js';
import { sharesVariables } from '../replicas/replica-variables.js';
import { currentFrame, requireCrossReplica } from '../scope/contexts.js';
import { countingRefusals } from '../scope/refused-calls.js';
import { type ReplicaContext, StrategyExtended } from '../scope/strategy.js';
import { requireUpdate, type UpdateFunction, type UpdateOptions } from '../variables/update-options.js';
import type { Variable } from '../variables/variable.js';
import { type VariableOptions, type VariableValue, variableOptions } from '../variables/variable-options.js';

/** The lower-level methods of a strategy whose variables have a component on each device. */
export class DistributedExtended extends StrategyExtended {
  override createVariable(initial: VariableValue, options?: VariableOptions): Variable {
    try {
      return distributedVariable(this.strategy, initial, optionsOf(options, "{ name: 'weights' }", variableOptions));
    } catch (error) {
      throw refusedVariable(this.strategy, error);
    }
  }

  override update(variable: unknown, fn: UpdateFunction, options: UpdateOptions = {}): Promise<unknown> {
    const replica = currentFrame()?.replica as ReplicaContext | undefined;
    const update = () => this.#update(replica, variable, fn, options);
    // Only replicas of one thread wait for each other.
    return replica && sharesVariables(replica) ? countingRefusals(this.strategy, update) : update();
  }

  async #update(
    replica: ReplicaContext | undefined,
    variable: unknown,
    fn: UpdateFunction,
    options: UpdateOptions,
  ): Promise<unknown> {
    if (replica?.strategy !== this.strategy) requireCrossReplica(this.strategy, 'update');
    const own = requireVariable(variable, this.strategy, 'update');
    requireUpdate(fn, options);
    return replica ? updateFromReplica(replica, own, fn, options) : updateComponents(own, fn, options);
  }

  override colocateVarsWith(variable: unknown): Disposable;
  override colocateVarsWith<Result>(variable: unknown, code: () => Result): Result;
  override colocateVarsWith<Result>(variable: unknown, code?: () => Result): Result | Disposable {
    requireVariable(variable, this.strategy, 'colocateVarsWith');
    return super.colocateVarsWith(variable, code as () => Result);
  }

  override variableCreatedInScope(variable: unknown): boolean {
    const container = this.valueContainer(variable);
    return container instanceof DistributedVariable && container.strategy === this.strategy;
  }
}

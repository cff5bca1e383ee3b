import {
  DistributedValues,
  InternalError,
  Mirrored,
  regroup,
  type Structure,
  selectReplica,
  ValueError,
} from '@coll/core';
import { isTensorLike, mapStructure, quote } from '@coll/core/internal';
import { runInUpdate } from '../scope/contexts.js';
import type { ReplicaContext, Strategy } from '../scope/strategy.js';
import type { UpdateFunction, UpdateOptions } from '../variables/update-options.js';
import { DistributedVariable } from './distributed-variable.js';

/**
 * Calls a function for each component in this process, one after the other. Each call gets the part
 * of the arguments that belongs to the replica of its component.
 */
export async function updateComponents(
  variable: DistributedVariable,
  fn: UpdateFunction,
  { args = [], kwargs, group = true }: UpdateOptions,
): Promise<unknown> {
  const given = (kwargs ? [...args, kwargs] : args) as Structure<unknown>;
  const { strategy, values } = variable;
  const updates: unknown[] = [];
  for (const [index, component] of values.entries()) {
    const update = variable.firstComponent + index;
    const mine = selectReplica(update, given) as never[];
    updates.push(await runInUpdate(strategy, update, () => fn(component, ...mine)));
  }
  return updateRegroup(strategy, updates as Structure<unknown>[], group);
}

/**
 * Like `updateComponents`, but called inside a replica. Replica 0's function is used for all
 * components.
 */
export function updateFromReplica(
  replica: ReplicaContext,
  variable: DistributedVariable,
  fn: UpdateFunction,
  { args = [], kwargs, group = true }: UpdateOptions,
): Promise<unknown> {
  if (variable.isOfThread) return updateComponents(variable, fn, { args, kwargs, group });
  const merge = (_: Strategy, what: unknown, merged: readonly unknown[], named: typeof kwargs) => {
    if (what === variable) return updateComponents(variable, fn, { args: merged, kwargs: named, group });
    const message = `replicas update different variables: replica 0 updates "${variable.name}"; all replicas must update the same variable`;
    throw new InternalError('ERR_COLL_MISMATCH', message, { operation: 'update' });
  };
  return replica.mergeCall(merge, [variable, args, kwargs] as const);
}

/**
 * Combines the results of an update, leaf by leaf. With `group`, a leaf becomes a `Mirrored`, or
 * undefined if the results are not tensors; without `group`, a leaf becomes a list of the results.
 * @throws ValueError unless `strategy` is a strategy; the errors of `regroup` for structures that
 * differ
 *
 * @example
 * ```ts
 * import { MirroredStrategy, updateRegroup } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * console.log(updateRegroup(strategy, [{ steps: 3 }, { steps: 4 }], false)); // { steps: [ 3, 4 ] }
 * ```
 */
export function updateRegroup(strategy: Strategy, updates: readonly Structure<unknown>[], group: boolean): unknown {
  if (typeof Object(strategy).experimentalLocalResults !== 'function')
    throw new ValueError(
      'ERR_COLL_VALUE',
      `updateRegroup: the first argument must be a strategy, got ${quote(strategy)}`,
    );
  const regrouped = regroup(updates, { wrapClass: Mirrored });
  if (!group) return mapStructure(regrouped, (leaf) => strategy.experimentalLocalResults(leaf));
  return mapStructure(regrouped, (leaf) => (isJoined(leaf) ? leaf : undefined));
}

/** @throws ValueError unless `variable` is a distributed variable of this strategy */
export function requireVariable(variable: unknown, strategy: Strategy, method: string): DistributedVariable {
  if (variable instanceof DistributedVariable && variable.strategy === strategy) return variable;
  const message =
    variable instanceof DistributedVariable
      ? `variable "${variable.name}" belongs to another strategy`
      : `the argument must be a distributed variable of this strategy, got ${variable instanceof DistributedValues ? variable.kind : quote(variable)}`;
  throw new ValueError('ERR_COLL_VALUE', `${method}: ${message}; create the variable in the scope of the strategy`, {
    operation: method,
  });
}

// The promise of the results also signals that all updates are done.
function isJoined(leaf: unknown): boolean {
  return !(leaf instanceof DistributedValues) || leaf.isVariable || leaf.values.every((value) => isTensorLike(value));
}

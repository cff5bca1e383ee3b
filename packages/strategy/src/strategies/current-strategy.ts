import { type DType, type DTypeOf, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { currentFrame, setOutside } from '../scope/contexts.js';
import { type ReplicaContext, Strategy } from '../scope/strategy.js';
import type { Variable } from '../variables/variable.js';
import type { VariableOptions, VariableValue } from '../variables/variable-options.js';
import { defaultReplica, defaultStrategy } from './default-strategy.js';

/**
 * The strategy in whose scope or replica this code runs, or else the default strategy.
 *
 * @example
 * ```ts
 * import { getStrategy, MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * console.log(strategy.scope(() => getStrategy() === strategy)); // true
 * ```
 */
export function getStrategy(): Strategy {
  return (currentFrame()?.strategy as Strategy | undefined) ?? defaultStrategy;
}

/**
 * Whether a strategy other than the default one is active.
 *
 * @example
 * ```ts
 * import { hasStrategy, MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * console.log(hasStrategy(), strategy.scope(hasStrategy)); // false true
 * ```
 */
export function hasStrategy(): boolean {
  return getStrategy() !== defaultStrategy;
}

/**
 * The replica in which this code runs; undefined in cross-replica context.
 *
 * @example
 * ```ts
 * import { getReplicaContext, MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const ids = await strategy.run(() => getReplicaContext()?.replicaIdInSyncGroup);
 * console.log(strategy.experimentalLocalResults(ids)); // [ 0, 1 ]
 * console.log(strategy.scope(() => getReplicaContext())); // undefined
 * ```
 */
export function getReplicaContext(): ReplicaContext | undefined {
  const frame = currentFrame();
  return frame ? (frame.replica as ReplicaContext | undefined) : defaultReplica;
}

/**
 * Whether this code runs in cross-replica context.
 *
 * @example
 * ```ts
 * import { inCrossReplicaContext, MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * console.log(strategy.scope(inCrossReplicaContext)); // true
 * console.log(await strategy.run(inCrossReplicaContext)); // false
 * ```
 */
export function inCrossReplicaContext(): boolean {
  return getReplicaContext() === undefined;
}

/**
 * Makes a strategy the current one outside of all scopes; null restores the default strategy.
 * @throws RuntimeError inside a scope or a replica; ValueError unless `strategy` is a strategy,
 * null or undefined
 *
 * @example
 * ```ts
 * import { experimentalSetStrategy, getStrategy, MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * experimentalSetStrategy(strategy);
 * console.log(getStrategy().numReplicasInSync); // 2
 * experimentalSetStrategy(null);
 * ```
 */
export function experimentalSetStrategy(strategy: Strategy | null | undefined): void {
  if (strategy && !(strategy instanceof Strategy)) {
    const message = `experimentalSetStrategy takes a strategy, or null to unset it, got ${quote(strategy)}`;
    throw new ValueError('ERR_COLL_VALUE', message);
  }
  setOutside(strategy && strategy !== defaultStrategy ? { strategy } : undefined);
}

/**
 * Creates a variable of the active strategy, with a component on each device of the strategy.
 * Without an active strategy, the variable has one device.
 * @throws ValueError for an invalid initial value or invalid options
 *
 * @example
 * ```ts
 * import { MirroredStrategy, variable } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const weights = strategy.scope(() => variable([0, 0], { name: 'weights', dtype: 'float32' }));
 * await weights.assign([1, 2]);
 * console.log(weights.read().data, weights.shape); // Float32Array(2) [ 1, 2 ] [ 2 ]
 * ```
 */
export function variable<V extends VariableValue, D extends DType = DTypeOf<V>>(
  initial: V,
  options?: VariableOptions<D>,
): Variable<D>;
export function variable(initial: VariableValue, options?: VariableOptions): Variable {
  return getStrategy().extended.createVariable(initial, options);
}

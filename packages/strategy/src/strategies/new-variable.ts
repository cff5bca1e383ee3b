import type { DType, DTypeOf } from '@coll/core';
import type { Variable } from '../variables/variable.js';
import type { VariableOptions, VariableValue } from '../variables/variable-options.js';
import { getStrategy } from './current-strategy.js';

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

import type { DType, DTypeOf } from '@coll/core';
import { getStrategy } from '../current-strategy.js';
import type { Variable } from './variable.js';
import type { VariableOptions, VariableValue } from './variable-options.js';

/**
 * A variable of the active strategy, with a component on each of its devices; without one, a
 * variable on its own.
 * @throws ValueError for an initial value or options of the wrong kind
 */
export function variable<V extends VariableValue, D extends DType = DTypeOf<V>>(
  initial: V,
  options?: VariableOptions<D>,
): Variable<D>;
export function variable(initial: VariableValue, options?: VariableOptions): Variable {
  return getStrategy().extended.createVariable(initial, options);
}

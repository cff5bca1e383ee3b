import { ValueError } from '@coll/core';
import { isMapping, knownOptions, optionsOf, quote } from '@coll/core/internal';
import type { LocalVariable } from './local-variable.js';

/** Options of an update of a variable. */
export interface UpdateOptions {
  /**
   * Arguments that the function gets after the component. Distributed values are replaced by their
   * matching component.
   */
  readonly args?: readonly unknown[];
  /** Named arguments, passed as one object after `args`. */
  readonly kwargs?: Readonly<Record<string, unknown>> | undefined;
  /**
   * If true, the results of all components are combined into one value; otherwise they are returned
   * as a list. Default: true.
   */
  readonly group?: boolean;
}

const updateOptions = knownOptions<UpdateOptions>('update', { args: true, kwargs: true, group: true });

/** Changes one component of a variable, or computes something from it. */
export type UpdateFunction = (component: LocalVariable, ...args: never[]) => unknown;

/** @throws ValueError unless the function can be called with these options */
export function requireUpdate(fn: unknown, options: UpdateOptions): void {
  const { args = [], kwargs } = optionsOf(options, '{ args: [delta] }', updateOptions);
  if (typeof fn === 'function' && Array.isArray(args) && (kwargs === undefined || isMapping(kwargs))) return;
  const given = [fn, args, ...(kwargs === undefined ? [] : [kwargs])].map(quote).join(', ');
  throw new ValueError(
    'ERR_COLL_VALUE',
    `update takes a function, a list of args and an object of kwargs, got ${given}`,
    { operation: 'update' },
  );
}

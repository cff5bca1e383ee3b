import { WrongTypeError } from '../support/built-in-errors.js';
import { AssertionError } from '../support/errors.js';
import { knownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { requireClass } from '../support/requirements.js';
import { componentOf, containerOf, DistributedValues, Mirrored, PerReplica } from './distributed-values.js';
import { mapStructure, type Structure, zipStructures } from './structure.js';

/** Options for wrapping leaves in distributed values. */
export interface RegroupOptions {
  /** The class that wraps differing leaves. Default: `PerReplica`. */
  readonly wrapClass?: new (
    values: readonly unknown[],
  ) => DistributedValues;
  /** Also wrap leaves that are identical on all replicas. Default: false. */
  readonly alwaysWrap?: boolean;
  /** Wrap numbers and bigints of several replicas even if they are equal. Default: false. */
  readonly wrapNumbers?: boolean;
}

const regroupOptions = knownOptions<RegroupOptions>('regroup', {
  wrapClass: true,
  alwaysWrap: true,
  wrapNumbers: true,
});

/**
 * Merges one structure per replica into one. Leaves that are the identical object (or equal
 * primitives) on all replicas are not wrapped, so by default nothing is wrapped for one replica.
 * Components of one variable become the variable again.
 * @throws AssertionError if the structures differ in form, or if components belong to different
 * variables; ValueError for an unknown option or a structure that contains itself
 *
 * @example
 * ```ts
 * import { PerReplica, regroup } from '@coll/core';
 *
 * const loss = regroup([0.5, 0.25]);
 * console.log(loss instanceof PerReplica && loss.values); // [ 0.5, 0.25 ]
 * console.log(regroup([{ step: 3 }, { step: 3 }])); // { step: 3 }
 * ```
 */
export function regroup(values: readonly Structure<unknown>[], options: RegroupOptions = {}): Structure<unknown> {
  const {
    wrapClass = PerReplica,
    alwaysWrap = false,
    wrapNumbers = false,
  } = optionsOf(options, '{ alwaysWrap: true }', regroupOptions);
  requireClass(wrapClass, 'wrapClass');
  return zipStructures(values, (leaves) => {
    const [first] = leaves;
    const container = containerOf(first);
    if (container) {
      requireSameVariable(container, leaves);
      return container;
    }
    const mustWrap = alwaysWrap || (wrapNumbers && leaves.length > 1 && isNumber(first));
    const identical = leaves.every((leaf) => Object.is(leaf, first));
    return identical && (isVariable(first) || !mustWrap) ? first : new wrapClass(leaves);
  });
}

/**
 * The structure that `replica` receives: each distributed value is replaced by its component;
 * variables and all other leaves are unchanged.
 * @throws OutOfRangeError for distributed values without a component of that replica
 *
 * @example
 * ```ts
 * import { PerReplica, selectReplica } from '@coll/core';
 *
 * const batch = { images: new PerReplica(['first half', 'second half']), epoch: 3 };
 * console.log(selectReplica(1, batch)); // { images: 'second half', epoch: 3 }
 * ```
 */
export function selectReplica(replica: number, structure: Structure<unknown>): Structure<unknown> {
  return mapStructure(structure, (leaf) =>
    leaf instanceof DistributedValues && !leaf.isVariable ? componentOf(leaf, replica) : leaf,
  );
}

/**
 * Like `selectReplica`, but accepts only values that are equal on all replicas.
 * @throws WrongTypeError for distributed values that are not mirrored
 *
 * @example
 * ```ts
 * import { Mirrored, selectReplicaMirrored } from '@coll/core';
 *
 * console.log(selectReplicaMirrored(1, [new Mirrored(['here', 'there']), 3])); // [ 'there', 3 ]
 * ```
 */
export function selectReplicaMirrored(replica: number, structure: Structure<unknown>): Structure<unknown> {
  mapStructure(structure, (leaf) => {
    if (leaf instanceof DistributedValues && !(leaf instanceof Mirrored)) {
      throw new WrongTypeError(`the value must be a mirrored value, got ${leaf}`);
    }
  });
  return selectReplica(replica, structure);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

function isVariable(value: unknown): boolean {
  return value instanceof DistributedValues && value.isVariable;
}

function requireSameVariable(container: DistributedValues, leaves: readonly unknown[]): void {
  const odd = leaves.findIndex((leaf) => containerOf(leaf) !== container);
  if (odd < 0) return;
  const message = `replica 0 returned a component of a ${container.kind}, replica ${odd} returned something else`;
  throw new AssertionError('ERR_COLL_VALUE', `${message}: return the same variable from all replicas`, { rank: odd });
}

/**
 * The form in which collectives return results: a single component unchanged, or several components
 * as `Mirrored`.
 *
 * @example
 * ```ts
 * import { mirror } from '@coll/core/plugin';
 *
 * console.log(mirror([1])); // 1
 * ```
 */
export function mirror<T>(values: readonly T[]): T | Mirrored<T> {
  return values.length === 1 ? (values[0] as T) : new Mirrored(values);
}

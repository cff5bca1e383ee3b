import { quote } from '@coll/core/internal';
import { invalid, isLikeArray, requireArray } from '../arrays.js';
import type { NamedArray } from '../collectives.js';
import { isArrayOrWithout, leavesOf, rebuilt } from '../trees.js';

/** A part of a tree without arrays, such as a counter. */
export interface NamedValue {
  readonly path: string;
  readonly value: unknown;
}

/** What a tree consists of. */
export interface Parts {
  readonly arrays: readonly NamedArray[];
  /** The largest parts without arrays, which are JSON values. */
  readonly values: readonly NamedValue[];
}

/**
 * The arrays of a tree, and its other parts.
 * @throws ValueError, with the path, for a part that is neither an array nor a JSON value
 */
export function partsOf(tree: unknown, operation: string): Parts {
  if (typeof tree !== 'object' || tree === null)
    throw invalid(
      operation,
      `tree must be a list or an object of arrays of jax-js and JSON values, got ${quote(tree)}`,
    );
  const arrays: NamedArray[] = [];
  const values: NamedValue[] = [];
  // Also refuses a tree that contains itself.
  for (const { path, value } of leavesOf(tree, '', operation)) requireLeaf(value, path, operation);
  for (const { path, value } of leavesOf(tree, '', operation, isArrayOrWithout)) {
    if (!isLikeArray(value)) values.push({ path, value });
    else {
      requireArray(value, path, operation);
      arrays.push({ path, array: value, dtype: value.dtype, shape: value.shape });
    }
  }
  return { arrays, values };
}

/** A tree of the same structure with other arrays and values, in the order of `partsOf`. */
export function withParts<Tree>(
  tree: Tree,
  arrays: readonly unknown[],
  values: readonly unknown[],
  operation: string,
): Tree {
  const [restOfArrays, restOfValues] = [arrays.values(), values.values()];
  const leaves = leavesOf(tree, '', operation, isArrayOrWithout);
  const parts = leaves.map(({ value }) => (isLikeArray(value) ? restOfArrays : restOfValues).next().value);
  return rebuilt(tree, parts, isArrayOrWithout);
}

function requireLeaf(value: unknown, path: string, operation: string): void {
  const isJson = value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value);
  if (isJson || isLikeArray(value)) return;
  const advice = ArrayBuffer.isView(value) ? '; pass np.array(values)' : '';
  throw invalid(operation, `${path} must be an array of jax-js or a JSON value, got ${quote(value)}${advice}`);
}

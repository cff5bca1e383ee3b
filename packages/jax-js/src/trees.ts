import { isTensor } from '@coll/core';
import { quote } from '@coll/core/internal';
import { invalid, isLikeArray, isTraced, traced } from './arrays.js';

/** A leaf of a tree, and how to find it there, such as `layers[0].w`. */
export interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

type IsLeaf = (node: unknown) => boolean;

const deepest = 100;

/**
 * The leaves of a tree, in an order that does not depend on the order of names in objects.
 * @param root the path of the tree itself
 * @param isLeaf Default: all but lists and plain objects
 */
export function leavesOf(tree: unknown, root: string, operation: string, isLeaf: IsLeaf = isNoBranch): Leaf[] {
  const leaves: Leaf[] = [];
  const around = new Set<unknown>();
  const collect = (node: unknown, path: string): void => {
    if (isLeaf(node)) {
      leaves.push({ path: path || 'the tree', value: node });
      return;
    }
    if (around.has(node)) throw invalid(operation, `${path || 'the tree'} contains itself`);
    if (around.size === deepest) throw invalid(operation, `a tree must be at most ${deepest} levels deep`);
    around.add(node);
    for (const [name, child] of childrenOf(node as object)) collect(child, joined(path, name));
    around.delete(node);
  };
  collect(tree, root);
  return leaves;
}

/** A tree of the same structure. `leaves` are in the order of `leavesOf`. */
export function rebuilt<Tree>(tree: Tree, leaves: readonly unknown[], isLeaf: IsLeaf = isNoBranch): Tree {
  const rest = leaves.values();
  const build = (node: unknown): unknown => {
    if (isLeaf(node)) return rest.next().value;
    const built = new Map(childrenOf(node as object).map(([name, child]) => [name, build(child)]));
    if (Array.isArray(node)) return [...built.values()];
    // The object keeps the order of its own names, by which jax-js compares structures.
    return Object.fromEntries(Object.keys(node as object).map((name) => [name, built.get(name)]));
  };
  return build(tree) as Tree;
}

function childrenOf(node: object): readonly (readonly [name: string | number, child: unknown])[] {
  if (Array.isArray(node)) return [...node.entries()];
  return Object.keys(node)
    .sort()
    .map((name) => [name, (node as Readonly<Record<string, unknown>>)[name]]);
}

/** As jax-js decides it, except that tensors of coll are leaves. */
function isNoBranch(node: unknown): boolean {
  if (Array.isArray(node)) return false;
  return typeof node !== 'object' || node?.constructor !== Object || isLikeArray(node) || isTensor(node);
}

/** Whether a part of a tree contains no array of jax-js, or is one. */
export function isArrayOrWithout(node: unknown): boolean {
  if (isLikeArray(node) || isNoBranch(node)) return true;
  return !childrenOf(node as object).some(([, child]) => isLikeArray(child) || !isArrayOrWithout(child));
}

/**
 * Refuses tracers at once. A rejected promise would not be seen: the function that is traced fails on the promise first.
 * @throws ValueError if a leaf is being traced
 */
export function requireUntraced(tree: unknown, operation: string, root = ''): void {
  const found = tracedLeafOf(tree, operation, root);
  if (found) throw traced(found.path, operation);
}

function tracedLeafOf(tree: unknown, operation: string, root: string): Leaf | undefined {
  try {
    return leavesOf(tree, root, operation).find(({ value }) => isTraced(value));
  } catch {
    return undefined; // The call itself rejects with what is wrong.
  }
}

function joined(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`;
  if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) return `${path}[${quote(name)}]`;
  return path ? `${path}.${name}` : name;
}

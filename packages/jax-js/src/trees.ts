import { isTensor } from '@coll/core';
import { quote } from '@coll/core/internal';
import { invalid, isLikeArray } from './arrays.js';

/** A leaf of a tree, and how to find it there, such as `layers[0].w`. */
export interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

/**
 * The leaves of a tree, in an order that does not depend on the order of names in objects.
 * @param root the path of the tree itself
 */
export function leavesOf(tree: unknown, root: string, operation: string): Leaf[] {
  const leaves: Leaf[] = [];
  const around = new Set<object>();
  const collect = (node: unknown, path: string): void => {
    if (!isBranch(node)) {
      leaves.push({ path: path || 'the tree', value: node });
      return;
    }
    if (around.has(node)) throw invalid(operation, `${path || 'the tree'} contains itself`);
    around.add(node);
    for (const [name, child] of childrenOf(node)) collect(child, joined(path, name));
    around.delete(node);
  };
  collect(tree, root);
  return leaves;
}

/** A tree of the same structure. `leaves` are in the order of `leavesOf`. */
export function rebuilt<Tree>(tree: Tree, leaves: readonly unknown[]): Tree {
  const rest = leaves.values();
  const build = (node: unknown): unknown => {
    if (!isBranch(node)) return rest.next().value;
    if (Array.isArray(node)) return node.map(build);
    // The object keeps the order of its own names, by which jax-js compares structures.
    const built = new Map(childrenOf(node).map(([name, child]) => [name, build(child)]));
    return Object.fromEntries(Object.keys(node).map((name) => [name, built.get(name)]));
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
function isBranch(node: unknown): node is object {
  if (Array.isArray(node)) return true;
  return (
    typeof node === 'object' && node !== null && node.constructor === Object && !isLikeArray(node) && !isTensor(node)
  );
}

function joined(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`;
  if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) return `${path}[${quote(name)}]`;
  return path ? `${path}.${name}` : name;
}

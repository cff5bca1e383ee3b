import type { Tensor } from '@coll/core';
import { quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import { type AsyncReducer, exchange, type ReplicaInfo, requireContext } from '@coll/strategy/internal';
import {
  arrayOf,
  carried,
  type Elements,
  elementsIn,
  type Form,
  invalid,
  type JaxArray,
  requireArray,
  requireFloating,
} from './arrays.js';
import { requireSameTrees } from './same-trees.js';
import { leavesOf, rebuilt, requireUntraced } from './trees.js';

type Reducer = ReplicaInfo & AsyncReducer;

/** An array of a tree, with what is known of it. */
export interface NamedArray extends Form {
  readonly path: string;
  readonly array: JaxArray;
}

/**
 * The mean over all replicas of each array of a tree, as `jax.lax.pmean`. All replicas pass trees of the same structure,
 * shapes and dtypes, and get the same bits. Call it outside of `jit`, `grad` and `vmap`.
 *
 * Like functions of jax-js, it consumes the arrays that it is given, and the caller owns the result. `tree.ref(values)`
 * keeps them. Arrays are not consumed if the call is refused.
 * @param tree a float array, or nested lists and plain objects of them
 * @throws ValueError at once for arrays that are being traced; ValueError for arrays of integers or bools, which have no
 * mean, and for values that are no arrays;
 * InvalidArgumentError, the same on all replicas, if their trees differ
 *
 * @example
 * ```ts
 * import { pmean } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { numpy as np } from '@jax-js/jax';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const means = await strategy.run(async (replica) => {
 *   const { accuracy } = await pmean(replica, { accuracy: np.array([replica.replicaIdInSyncGroup]) });
 *   return accuracy.js();
 * });
 * console.log(strategy.experimentalLocalResults(means)); // [ [ 0.5 ], [ 0.5 ] ]
 * ```
 */
export function pmean<Tree extends object>(context: Reducer, tree: Tree): Promise<Tree> {
  requireUntraced(tree, 'pmean');
  return reduced('mean', 'pmean', context, tree);
}

/**
 * The sum over all replicas of each array of a tree, as `jax.lax.psum`. Arrays, replicas and results as for `pmean`.
 * @param tree an array of floats or integers, or nested lists and plain objects of them
 * @throws the errors of `pmean`; ValueError for arrays of bools
 *
 * @example
 * ```ts
 * import { psum } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { numpy as np } from '@jax-js/jax';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const sums = await strategy.run(async (replica) => {
 *   const [ones] = await psum(replica, [np.ones([2], { dtype: np.int32 })]);
 *   return ones?.js();
 * });
 * console.log(strategy.experimentalLocalResults(sums)); // [ [ 2, 2 ], [ 2, 2 ] ]
 * ```
 */
export function psum<Tree extends object>(context: Reducer, tree: Tree): Promise<Tree> {
  requireUntraced(tree, 'psum');
  return reduced('sum', 'psum', context, tree);
}

/**
 * The maximum over all replicas of each element of a tree, as `jax.lax.pmax`. Arrays, replicas and results as for
 * `pmean`; all dtypes.
 * @throws the errors of `pmean`
 *
 * @example
 * ```ts
 * import { pmax } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { numpy as np } from '@jax-js/jax';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const largest = await strategy.run(async (replica) =>
 *   (await pmax(replica, np.array([replica.replicaIdInSyncGroup, 7]))).js(),
 * );
 * console.log(strategy.experimentalLocalResults(largest)); // [ [ 1, 7 ], [ 1, 7 ] ]
 * ```
 */
export function pmax<Tree extends object>(context: Reducer, tree: Tree): Promise<Tree> {
  requireUntraced(tree, 'pmax');
  return reduced('max', 'pmax', context, tree);
}

/**
 * The minimum over all replicas of each element of a tree, as `jax.lax.pmin`. Arrays, replicas and results as for
 * `pmean`; all dtypes.
 * @throws the errors of `pmean`
 *
 * @example
 * ```ts
 * import { pmin } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { numpy as np } from '@jax-js/jax';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const smallest = await strategy.run(async (replica) =>
 *   (await pmin(replica, np.array([replica.replicaIdInSyncGroup, 7]))).js(),
 * );
 * console.log(strategy.experimentalLocalResults(smallest)); // [ [ 0, 7 ], [ 0, 7 ] ]
 * ```
 */
export function pmin<Tree extends object>(context: Reducer, tree: Tree): Promise<Tree> {
  requireUntraced(tree, 'pmin');
  return reduced('min', 'pmin', context, tree);
}

/**
 * The arrays of all replicas, stacked along a new first axis in replica order, as `jax.lax.all_gather`. Arrays, replicas
 * and results as for `pmean`; all dtypes.
 * @throws the errors of `pmean`
 *
 * @example
 * ```ts
 * import { allGather } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { numpy as np } from '@jax-js/jax';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const all = await strategy.run(async (replica) =>
 *   (await allGather(replica, np.array([replica.replicaIdInSyncGroup, 7]))).js(),
 * );
 * console.log(strategy.experimentalLocalResults(all)[1]); // [ [ 0, 7 ], [ 1, 7 ] ]
 * ```
 */
export function allGather<Tree extends object>(
  context: Reducer & Pick<ReplicaContext, 'allGather'>,
  tree: Tree,
): Promise<Tree> {
  requireUntraced(tree, 'allGather');
  return gathered(context, tree);
}

/**
 * The arrays of replica `root`, on all replicas. Use it for parameters that each replica has initialized at random or
 * read from a file. Arrays, replicas and results as for `pmean`; all dtypes.
 * @param root Default: 0
 * @throws the errors of `pmean`; ValueError unless `root` is the number of a replica
 *
 * @example
 * ```ts
 * import { broadcast } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { numpy as np } from '@jax-js/jax';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const params = await strategy.run(async (replica) => {
 *   const { w } = await broadcast(replica, { w: np.array([replica.replicaIdInSyncGroup, 7]) });
 *   return w.js();
 * });
 * console.log(strategy.experimentalLocalResults(params)); // [ [ 0, 7 ], [ 0, 7 ] ]
 * ```
 */
export function broadcast<Tree extends object>(
  context: Reducer & Pick<ReplicaContext, 'broadcast'>,
  tree: Tree,
  root = 0,
): Promise<Tree> {
  requireUntraced(tree, 'broadcast');
  return copied(context, tree, root);
}

/**
 * The number of this replica, from 0, as `jax.lax.axis_index`.
 *
 * @example
 * ```ts
 * import { axisIndex } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const numbers = await strategy.run((replica) => axisIndex(replica));
 * console.log(strategy.experimentalLocalResults(numbers)); // [ 0, 1 ]
 * ```
 */
export function axisIndex(context: Reducer): number {
  requireContext(context, 'allReduce', 'axisIndex');
  return context.replicaIdInSyncGroup;
}

/**
 * The number of replicas, as `jax.lax.axis_size`.
 *
 * @example
 * ```ts
 * import { axisSize } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const sizes = await strategy.run((replica) => axisSize(replica));
 * console.log(strategy.experimentalLocalResults(sizes)); // [ 2, 2 ]
 * ```
 */
export function axisSize(context: Reducer): number {
  requireContext(context, 'allReduce', 'axisSize');
  return context.numReplicasInSync;
}

async function gathered<Tree>(context: Reducer & Pick<ReplicaContext, 'allGather'>, tree: Tree): Promise<Tree> {
  const operation = 'allGather';
  requireContext(context, 'allGather', operation);
  const arrays = arraysOf(tree, operation);
  const { numReplicasInSync: replicas } = context;
  await agree(operation, arrays, context);
  const elements = await elementsOf(arrays);
  const values = elements.map((each, index) => carried(each, dtypeAt(arrays, index)));
  const joined = replicas === 1 || values.length === 0 ? elements : dataOf(await context.allGather(values, 0), arrays);
  return rebuilt(
    tree,
    arrays.map(({ dtype, shape, array }, index) => {
      return arrayOf(joined[index] as Elements, { dtype, shape: [replicas, ...shape] }, array.device);
    }),
  );
}

async function copied<Tree>(
  context: Reducer & Pick<ReplicaContext, 'broadcast'>,
  tree: Tree,
  root: number,
): Promise<Tree> {
  const operation = 'broadcast';
  requireContext(context, 'broadcast', operation);
  const arrays = arraysOf(tree, operation);
  const { numReplicasInSync: replicas, replicaIdInSyncGroup: id } = context;
  if (!Number.isInteger(root) || root < 0 || root >= replicas)
    throw invalid(operation, `root must be the number of a replica, 0 to ${replicas - 1}, got ${quote(root)}`);
  await agree(`${operation} from replica ${root}`, arrays, context);
  if (replicas === 1 || arrays.length === 0) return tree;
  // The root keeps its arrays.
  const elements = await elementsOf(arrays.map((each) => (id === root ? { ...each, array: each.array.ref } : each)));
  const values = elements.map((each, index) => carried(each, dtypeAt(arrays, index)));
  await context.broadcast(values, root, { into: values });
  return id === root ? tree : withElements(tree, arrays, elements);
}

async function reduced<Tree>(
  op: 'mean' | 'sum' | 'max' | 'min',
  operation: string,
  context: Reducer,
  tree: Tree,
): Promise<Tree> {
  requireContext(context, 'allReduce', operation);
  const arrays = arraysOf(tree, operation);
  for (const array of arrays) {
    if (op === 'mean') requireFloating(array, array.path, operation);
    if (op === 'sum' && array.dtype === 'bool')
      throw invalid(operation, `${array.path} is bool, which has no sum; use astype(np.int32) first`);
  }
  await agree(operation, arrays, context);
  if (context.numReplicasInSync === 1 || arrays.length === 0) return tree;
  const elements = await elementsOf(arrays);
  const values = elements.map((each, index) => carried(each, dtypeAt(arrays, index)));
  await context.allReduce(op, values, { into: values });
  return withElements(tree, arrays, elements);
}

/** The arrays of a tree, whose paths begin at `root`. */
export function arraysOf(tree: unknown, operation: string, root = ''): NamedArray[] {
  return leavesOf(tree, root, operation).map(({ path, value }) => {
    requireArray(value, path, operation);
    return { path, array: value, dtype: value.dtype, shape: value.shape };
  });
}

async function agree(operation: string, arrays: readonly NamedArray[], context: Reducer): Promise<void> {
  if (context.numReplicasInSync > 1) await exchange(requireSameTrees(operation, arrays, context), context);
}

/** Copies the elements of arrays, which are consumed. */
export async function elementsOf(arrays: readonly Pick<NamedArray, 'array'>[]): Promise<Elements[]> {
  return await Promise.all(arrays.map(({ array }) => array.data()));
}

/** A tree of the same structure with new arrays of these elements. */
function withElements<Tree>(tree: Tree, arrays: readonly NamedArray[], elements: readonly Elements[]): Tree {
  return rebuilt(
    tree,
    arrays.map((form, index) => arrayOf(elements[index] as Elements, form, form.array.device)),
  );
}

function dataOf(results: readonly unknown[], arrays: readonly NamedArray[]): Elements[] {
  return results.map((result, index) => {
    const { data } = result as Tensor;
    const dtype = dtypeAt(arrays, index);
    return dtype === 'float16'
      ? elementsIn(data.buffer as ArrayBuffer, dtype, data.byteOffset, data.length)
      : (data as Elements);
  });
}

function dtypeAt(arrays: readonly NamedArray[], index: number): string {
  return (arrays[index] as NamedArray).dtype;
}

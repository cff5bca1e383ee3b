import type { ReplicaContext } from '@coll/strategy';
import {
  broadcastBytes,
  exchange,
  newestWhole,
  onReplica0,
  requireContext,
  requireFolder,
} from '@coll/strategy/internal';
import { nodeDisk } from '@coll/strategy/internal-node';
import { arrayOf, type Elements } from '../arrays.js';
import { requireSameTrees } from '../same-trees.js';
import { elementsFrom, readTree, type TreeCheckpoint, type TreeDescription } from './tree-files.js';
import { type Parts, partsOf, withParts } from './tree-parts.js';

/**
 * Returns the tree in the newest whole checkpoint of a folder, on all replicas; if there is none, the tree that was
 * given. All replicas call this function before they train, with the tree with which a new training begins. Replica 0
 * reads the files, and sends the contents to all others.
 *
 * The checkpoint must have arrays of the same dtypes and shapes at the same places. Parts without arrays, such as
 * counters or a list of numbers, are taken as saved. A damaged checkpoint is skipped with a warning that names the file.
 * The arrays that were given are consumed.
 * @param folder the folder that was passed to `saveCheckpoint`, or the path of one checkpoint; only replica 0 needs it
 * @param tree nested lists and plain objects of arrays of jax-js and of JSON values
 * @throws ValueError for invalid arguments; RuntimeError, the same on all replicas, if replica 0 cannot read the files, or
 * the newest checkpoint belongs to another tree; InvalidArgumentError if the trees of the replicas differ
 *
 * @example
 * ```ts
 * import { restoreCheckpoint } from '@coll/jax-js/node';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { numpy as np } from '@jax-js/jax';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run(async (replica) => {
 *   const start = { params: { w: np.ones([2, 3]) }, epoch: 0 };
 *   const { params, epoch } = await restoreCheckpoint(replica, 'no-such-folder', start);
 *   console.log(params.w.shape, epoch); // [ 2, 3 ] 0
 * });
 * ```
 */
export async function restoreCheckpoint<Tree extends object>(
  context: ReplicaContext,
  folder: string,
  tree: Tree,
): Promise<Tree> {
  const operation = 'restoreCheckpoint';
  requireContext(context, 'broadcast', operation);
  requireFolder(folder, operation);
  const parts = partsOf(tree, operation);
  const { arrays } = parts;
  if (context.numReplicasInSync > 1) await exchange(requireSameTrees(operation, arrays, context), context);
  let found: TreeCheckpoint | undefined;
  const values = await onReplica0(context, operation, async () => {
    found = await newestFitting(folder, parts);
    return found?.values.map(({ value }) => value);
  });
  if (!values) return tree;
  const bytes = context.numReplicasInSync === 1 ? found?.bytes : await broadcastBytes(found?.bytes, context);
  const elements = elementsFrom(bytes as Uint8Array, arrays);
  const restored = arrays.map((form, index) => arrayOf(elements[index] as Elements, form, form.array.device));
  const result = withParts(tree, restored, values, operation);
  for (const { array } of arrays) array.dispose();
  return result;
}

async function newestFitting(folder: string, parts: Parts): Promise<TreeCheckpoint | undefined> {
  const newest = await newestWhole(nodeDisk, folder, readTree);
  const misfit = newest && misfitOf(parts, newest.checkpoint);
  if (misfit) throw new Error(`${newest.folder} does not fit: ${misfit}`);
  return newest?.checkpoint;
}

/** The first place at which a checkpoint differs from a tree. */
function misfitOf(own: TreeDescription, saved: TreeDescription): string | undefined {
  const [ours, theirs] = [own, saved].map(
    ({ arrays, values }) =>
      new Map([
        ...arrays.map(({ path, dtype, shape }) => [path, `${dtype} [${shape}]`] as const),
        ...values.map(({ path }) => [path, 'a JSON value'] as const),
      ]),
  ) as [Map<string, string>, Map<string, string>];
  for (const path of [...ours.keys(), ...theirs.keys()]) {
    const [our, their] = [ours.get(path) ?? 'missing', theirs.get(path) ?? 'missing'];
    if (our !== their) return `${path} is ${their} in the checkpoint, and ${our} in the tree of this program`;
  }
  return undefined;
}

import type { ReplicaContext } from '@coll/strategy';
import {
  broadcastBytes,
  type Disk,
  exchange,
  newestWhole,
  onReplica0,
  requireContext,
  requireFolder,
} from '@coll/strategy/internal';
import { arrayOf, type Elements } from '../arrays.js';
import { requireSameTrees } from '../same-trees.js';
import { elementsFrom, readTree, type TreeCheckpoint, type TreeDescription } from './tree-files.js';
import { type Parts, partsOf, withParts } from './tree-parts.js';

/** `restoreCheckpoint` from a disk. */
export async function restoreCheckpointFrom<Tree extends object>(
  disk: Disk,
  context: ReplicaContext,
  folder: string,
  tree: Tree,
): Promise<Tree> {
  const operation = 'restoreCheckpoint';
  requireFolder(folder, 'restoreCheckpoint(context, folder, tree)');
  requireContext(context, 'broadcast', operation);
  const parts = partsOf(tree, operation);
  const { arrays } = parts;
  if (context.numReplicasInSync > 1) await exchange(requireSameTrees(operation, arrays, context), context);
  let found: TreeCheckpoint | undefined;
  const values = await onReplica0(context, operation, async () => {
    found = await newestFitting(disk, folder, parts);
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

async function newestFitting(disk: Disk, folder: string, parts: Parts): Promise<TreeCheckpoint | undefined> {
  const newest = await newestWhole(disk, folder, readTree);
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

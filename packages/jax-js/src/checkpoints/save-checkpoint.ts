import { knownOptions, optionsOf } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import {
  type Disk,
  onReplica0,
  removeOlder,
  requireContext,
  requireFolder,
  requireKeep,
  writeCheckpointFolder,
} from '@coll/strategy/internal';
import { elementsOf } from '../collectives.js';
import { treeFiles } from './tree-files.js';
import { partsOf } from './tree-parts.js';

/** How a checkpoint is saved. */
export interface SaveCheckpointOptions {
  /** How many checkpoints the folder keeps, at least 1. Older ones are removed. Default: 3. */
  readonly keep?: number | undefined;
}

const names = knownOptions<SaveCheckpointOptions>('saveCheckpoint', { keep: true });

/** `saveCheckpoint` on a disk. */
export async function saveCheckpointTo(
  disk: Disk,
  context: ReplicaContext,
  folder: string,
  tree: object,
  options: SaveCheckpointOptions | undefined,
): Promise<string> {
  const operation = 'saveCheckpoint';
  requireFolder(folder, 'saveCheckpoint(context, folder, tree)');
  requireContext(context, 'broadcast', operation);
  const keep = requireKeep(optionsOf(options, '{ keep: 3 }', names).keep, operation);
  const parts = partsOf(tree, operation);
  if (context.replicaIdInSyncGroup !== 0) for (const { array } of parts.arrays) array.dispose();
  return await onReplica0(context, operation, async () => {
    const files = await treeFiles(disk, parts, await elementsOf(parts.arrays));
    const written = await writeCheckpointFolder(disk, disk.path.resolve(folder), files);
    await removeOlder(disk, folder, keep);
    return written;
  });
}

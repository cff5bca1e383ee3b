import { knownOptions, optionsOf } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import {
  onReplica0,
  removeOlder,
  requireContext,
  requireFolder,
  requireKeep,
  writeCheckpointFolder,
} from '@coll/strategy/internal';
import { nodeDisk } from '@coll/strategy/internal-node';
import { elementsOf } from '../collectives.js';
import { treeFiles } from './tree-files.js';
import { partsOf } from './tree-parts.js';

/** How a checkpoint is saved. */
export interface SaveCheckpointOptions {
  /** How many checkpoints the folder keeps, at least 1. Older ones are removed. Default: 3. */
  readonly keep?: number | undefined;
}

const names = knownOptions<SaveCheckpointOptions>('saveCheckpoint', { keep: true });

/**
 * Saves a tree as a checkpoint: parameters, the state of the optimizer, counters and other data. All replicas call this
 * function after the same step, and replica 0 writes its tree. Resolves on all replicas to the path of the new checkpoint,
 * a folder in `folder`, once replica 0 has flushed the files to the disk.
 *
 * The folder of a checkpoint appears only after all its files were written, so that a crash leaves the checkpoints before
 * it intact. As in jax-js, the arrays are consumed: pass `tree.ref(params)`.
 * @param folder created if it does not exist; only replica 0 needs it
 * @param tree nested lists and plain objects of arrays of jax-js and of JSON values
 * @throws ValueError for invalid arguments; RuntimeError, the same on all replicas, if replica 0 cannot write the files
 *
 * @example
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { saveCheckpoint } from '@coll/jax-js/node';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { numpy as np, tree } from '@jax-js/jax';
 *
 * const folder = await mkdtemp(join(tmpdir(), 'checkpoints-'));
 * const params = { w: np.ones([2, 3]) };
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * const paths = await strategy.run((replica) =>
 *   saveCheckpoint(replica, folder, { params: tree.ref(params), epoch: 1 }),
 * );
 * console.log(String(paths).slice(folder.length + 1)); // checkpoint-000001
 * ```
 */
export async function saveCheckpoint(
  context: ReplicaContext,
  folder: string,
  tree: object,
  options?: SaveCheckpointOptions,
): Promise<string> {
  const operation = 'saveCheckpoint';
  requireContext(context, 'broadcast', operation);
  requireFolder(folder, operation);
  const keep = requireKeep(optionsOf(options, '{ keep: 3 }', names).keep, operation);
  const parts = partsOf(tree, operation);
  if (context.replicaIdInSyncGroup !== 0) for (const { array } of parts.arrays) array.dispose();
  return await onReplica0(context, operation, async () => {
    const files = await treeFiles(nodeDisk, parts, await elementsOf(parts.arrays));
    const written = await writeCheckpointFolder(nodeDisk, nodeDisk.path.resolve(folder), files);
    await removeOlder(nodeDisk, folder, keep);
    return written;
  });
}

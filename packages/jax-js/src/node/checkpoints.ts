import type { ReplicaContext } from '@coll/strategy';
import { nodeDisk } from '@coll/strategy/internal-node';
import { restoreCheckpointFrom } from '../checkpoints/restore-checkpoint.js';
import { type SaveCheckpointOptions, saveCheckpointTo } from '../checkpoints/save-checkpoint.js';

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
  return await saveCheckpointTo(nodeDisk, context, folder, tree, options);
}

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
  return await restoreCheckpointFrom(nodeDisk, context, folder, tree);
}

import type { ReplicaContext } from '@coll/strategy';
import { pageDisk } from '@coll/strategy/internal';
import { restoreCheckpointFrom } from '../checkpoints/restore-checkpoint.js';
import { type SaveCheckpointOptions, saveCheckpointTo } from '../checkpoints/save-checkpoint.js';

/**
 * Saves a tree as a checkpoint in the origin private file system of a page: parameters, the state of the optimizer,
 * counters and other data. All replicas call this function after the same step, and replica 0 writes its tree, in the files
 * of Node.js. Resolves on all replicas to the path of the new checkpoint, a folder in `folder`.
 *
 * Only a checkpoint whose manifest `checkpoint.json` was written, the last of its files, is restored, so that a page that
 * is closed during a save continues from the checkpoint before. As in jax-js, the arrays are consumed: pass
 * `tree.ref(params)`.
 * @param folder a path such as 'runs/1', created if it does not exist; only replica 0 needs it
 * @param tree nested lists and plain objects of arrays of jax-js and of JSON values
 * @throws ValueError for invalid arguments; RuntimeError, the same on all replicas, if the browser has no such file system,
 * or the storage is full
 *
 * @example
 * ```ts
 * import '@coll/strategy/replica-thread';
 * import { saveCheckpoint } from '@coll/jax-js/page';
 * import type { ReplicaContext } from '@coll/strategy';
 * import { numpy as np, tree } from '@jax-js/jax';
 *
 * export async function replica(context: ReplicaContext): Promise<string> {
 *   const params = { w: np.ones([2, 3]) };
 *   return await saveCheckpoint(context, 'line', { params: tree.ref(params), epoch: 1 }); // /line/checkpoint-000001
 * }
 * ```
 */
export async function saveCheckpoint(
  context: ReplicaContext,
  folder: string,
  tree: object,
  options?: SaveCheckpointOptions,
): Promise<string> {
  return await saveCheckpointTo(pageDisk, context, folder, tree, options);
}

/**
 * Returns the tree in the newest whole checkpoint of a folder in the origin private file system, on all replicas; if there
 * is none, the tree that was given. All replicas call this function before they train, with the tree with which a new
 * training begins. Replica 0 reads the files, and sends the contents to all others.
 *
 * The checkpoint must have arrays of the same dtypes and shapes at the same places. Parts without arrays, such as
 * counters or a list of numbers, are taken as saved. A damaged checkpoint is skipped with a warning that names the file.
 * The arrays that were given are consumed.
 * @param folder the folder that was passed to `saveCheckpoint`, or the path of one checkpoint; only replica 0 needs it
 * @param tree nested lists and plain objects of arrays of jax-js and of JSON values
 * @throws ValueError for invalid arguments; RuntimeError, the same on all replicas, if the browser has no such file system,
 * or the newest checkpoint belongs to another tree; InvalidArgumentError if the trees of the replicas differ
 *
 * @example
 * ```ts
 * import '@coll/strategy/replica-thread';
 * import { restoreCheckpoint } from '@coll/jax-js/page';
 * import type { ReplicaContext } from '@coll/strategy';
 * import { numpy as np } from '@jax-js/jax';
 *
 * export async function replica(context: ReplicaContext): Promise<number> {
 *   const start = { params: { w: np.ones([2, 3]) }, epoch: 0 };
 *   const { epoch } = await restoreCheckpoint(context, 'line', start);
 *   return epoch;
 * }
 * ```
 */
export async function restoreCheckpoint<Tree extends object>(
  context: ReplicaContext,
  folder: string,
  tree: Tree,
): Promise<Tree> {
  return await restoreCheckpointFrom(pageDisk, context, folder, tree);
}

import type { ReplicaContext } from '@coll/strategy';
import { pageDisk } from '@coll/strategy/internal';
import { type CheckpointCallbackOptions, checkpointCallbackOn } from '../checkpoints/checkpoint-callback.js';
import { type RestoreCheckpointOptions, restoreCheckpointFrom } from '../checkpoints/restore-checkpoint.js';
import { type SaveCheckpointOptions, saveCheckpointTo } from '../checkpoints/save-checkpoint.js';
import type { TfCallback } from '../tf-callbacks.js';
import type { Progress, TrainingState } from '../training-state.js';

/**
 * Saves a checkpoint in the origin private file system of a page: the model, the optimizer's state,
 * `epoch`, `step` and `data`. All replicas call this function after the same step. It averages the
 * moving statistics of the model over all replicas, then replica 0 writes the files, which are those of
 * Node.js. Resolves on all replicas to the path of the new checkpoint, a folder in `folder`.
 *
 * Only a checkpoint whose manifest `checkpoint.json` was written, the last of its files, is restored, so
 * that a page that is closed during a save continues from the checkpoint before.
 * @param folder a path such as 'runs/1', created if it does not exist; only replica 0 needs it
 * @throws ValueError for invalid arguments; RuntimeError, the same on all replicas, if the optimizer
 * cannot save its state, the browser has no such file system, or the storage is full;
 * InvalidArgumentError if the models of the replicas differ
 *
 * @example
 * ```ts
 * import '@coll/strategy/replica-thread';
 * import type { ReplicaContext } from '@coll/strategy';
 * import { trainingState } from '@coll/tfjs';
 * import { saveCheckpoint } from '@coll/tfjs/page';
 * import * as tf from '@tensorflow/tfjs';
 *
 * export async function replica(context: ReplicaContext): Promise<string> {
 *   const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 *   return await saveCheckpoint('line', trainingState(tf, { model }), context); // /line/checkpoint-000001
 * }
 * ```
 */
export async function saveCheckpoint(
  folder: string,
  state: TrainingState,
  context: ReplicaContext,
  options?: SaveCheckpointOptions,
): Promise<string> {
  return await saveCheckpointTo(pageDisk, folder, state, context, options);
}

/**
 * Sets model, optimizer and counters of a state to the newest whole checkpoint in a folder of the
 * origin private file system. All replicas call this function before they train. Replica 0 reads the
 * files and sends the contents to all others. Returns `epoch`, `step` and `data` of the checkpoint, or
 * undefined, and changes nothing, if the folder has no whole checkpoint.
 *
 * The model must have the same weights as the saved one, and the optimizer the same class and
 * settings; its learning rate is set to the saved one. A damaged checkpoint is skipped with a
 * warning that names the file.
 * @param folder the folder that was passed to `saveCheckpoint`, or the path of one checkpoint; only
 * replica 0 needs it
 * @throws ValueError for invalid arguments; RuntimeError, the same on all replicas, if the browser has
 * no such file system, or the checkpoint belongs to another model or optimizer; InvalidArgumentError if
 * the replicas have different models or optimizers
 *
 * @example
 * ```ts
 * import '@coll/strategy/replica-thread';
 * import type { ReplicaContext } from '@coll/strategy';
 * import { trainingState } from '@coll/tfjs';
 * import { restoreCheckpoint } from '@coll/tfjs/page';
 * import * as tf from '@tensorflow/tfjs';
 *
 * export async function replica(context: ReplicaContext): Promise<number> {
 *   const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 *   const resumed = await restoreCheckpoint('line', trainingState(tf, { model }), context);
 *   return resumed?.epoch ?? 0;
 * }
 * ```
 */
export async function restoreCheckpoint<Data>(
  folder: string,
  state: TrainingState<Data>,
  context: ReplicaContext,
  options?: RestoreCheckpointOptions,
): Promise<Progress<Data> | undefined> {
  return await restoreCheckpointFrom(pageDisk, folder, state, context, options);
}

/**
 * Makes a callback that saves checkpoints in the origin private file system while a model trains, and
 * at the end of the training if anything is not saved yet. Pass it to `distributedCallbacks` on all
 * replicas, since a checkpoint takes all of them. The callback counts `epoch` and `step` of the state.
 *
 * @param folder the folder for the checkpoints; only replica 0 needs it
 * @throws ValueError for invalid arguments, or if there is no such metric as `best` at the end of an
 * epoch; RuntimeError, the same on all replicas, before the training if the optimizer cannot save
 * its state, and later if replica 0 cannot write the files
 *
 * @example
 * ```ts
 * import '@coll/strategy/replica-thread';
 * import type { ReplicaContext } from '@coll/strategy';
 * import { distributedCallbacks, distributedOptimizer, trainingState } from '@coll/tfjs';
 * import { checkpointCallback, restoreCheckpoint } from '@coll/tfjs/page';
 * import * as tf from '@tensorflow/tfjs';
 *
 * export async function replica(context: ReplicaContext): Promise<void> {
 *   const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [1], units: 1 })] });
 *   model.compile({ optimizer: distributedOptimizer(tf, tf.train.adam(), context), loss: 'meanSquaredError' });
 *   const state = trainingState(tf, { model });
 *   const resumed = await restoreCheckpoint('line', state, context);
 *   await model.fit(tf.ones([4, 1]), tf.ones([4, 1]), {
 *     epochs: 3,
 *     initialEpoch: resumed?.epoch ?? 0,
 *     callbacks: distributedCallbacks(tf, checkpointCallback('line', state, context, { keep: 1 }), context),
 *   });
 * }
 * ```
 */
export function checkpointCallback(
  folder: string,
  state: TrainingState,
  context: ReplicaContext,
  options?: CheckpointCallbackOptions,
): TfCallback {
  return checkpointCallbackOn(pageDisk, folder, state, context, options);
}

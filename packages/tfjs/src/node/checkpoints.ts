import type { ReplicaContext } from '@coll/strategy';
import { nodeDisk } from '@coll/strategy/internal-node';
import { type CheckpointCallbackOptions, checkpointCallbackOn } from '../checkpoints/checkpoint-callback.js';
import { type RestoreCheckpointOptions, restoreCheckpointFrom } from '../checkpoints/restore-checkpoint.js';
import { type SaveCheckpointOptions, saveCheckpointTo } from '../checkpoints/save-checkpoint.js';
import type { TfCallback } from '../tf-callbacks.js';
import type { Progress, TrainingState } from '../training-state.js';

/**
 * Saves a checkpoint: the model, the optimizer's state, `epoch`, `step` and `data`. All replicas call
 * this function after the same step. It averages the moving statistics of the model over all
 * replicas, then replica 0 writes the files. Resolves on all replicas to the path of the new
 * checkpoint, a folder in `folder`, once replica 0 has flushed the files to the disk.
 *
 * The folder of a checkpoint appears only after all its files were written, so that a crash leaves
 * the checkpoints before it intact. Its files `model.json` and `weights.bin` are an ordinary model
 * of TensorFlow.js.
 * @param folder created if it does not exist; only replica 0 needs it
 * @throws ValueError for invalid arguments; RuntimeError, the same on all replicas, if the optimizer
 * cannot save its state, or replica 0 cannot write the files; InvalidArgumentError if the models of
 * the replicas differ
 *
 * @example
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { trainingState } from '@coll/tfjs';
 * import { saveCheckpoint } from '@coll/tfjs/node';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const folder = await mkdtemp(join(tmpdir(), 'checkpoints-'));
 * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * const paths = await strategy.run((replica) => saveCheckpoint(folder, trainingState(tf, { model }), replica));
 * console.log(String(paths).slice(folder.length + 1)); // checkpoint-000001
 * ```
 */
export async function saveCheckpoint(
  folder: string,
  state: TrainingState,
  context: ReplicaContext,
  options?: SaveCheckpointOptions,
): Promise<string> {
  return await saveCheckpointTo(nodeDisk, folder, state, context, options);
}

/**
 * Sets model, optimizer and counters of a state to the newest whole checkpoint in a folder. All
 * replicas call this function before they train. Replica 0 reads the files and sends the contents to
 * all others. Returns `epoch`, `step` and `data` of the checkpoint, or undefined, and changes
 * nothing, if the folder has no whole checkpoint.
 *
 * The model must have the same weights as the saved one, and the optimizer the same class and
 * settings; its learning rate is set to the saved one. A damaged checkpoint is skipped with a
 * warning that names the file.
 * @param folder the folder that was passed to `saveCheckpoint`, or the path of one checkpoint; only
 * replica 0 needs it
 * @throws ValueError for invalid arguments; RuntimeError, the same on all replicas, if replica 0
 * cannot read the files, or the checkpoint belongs to another model or optimizer; InvalidArgumentError
 * if the replicas have different models or optimizers
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { trainingState } from '@coll/tfjs';
 * import { restoreCheckpoint } from '@coll/tfjs/node';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run(async (replica) => {
 *   const resumed = await restoreCheckpoint('no-such-folder', trainingState(tf, { model }), replica);
 *   console.log(resumed?.epoch ?? 0); // 0
 * });
 * ```
 */
export async function restoreCheckpoint<Data>(
  folder: string,
  state: TrainingState<Data>,
  context: ReplicaContext,
  options?: RestoreCheckpointOptions,
): Promise<Progress<Data> | undefined> {
  return await restoreCheckpointFrom(nodeDisk, folder, state, context, options);
}

/**
 * Makes a callback that saves checkpoints while a model trains, and at the end of the training if
 * anything is not saved yet, for example because SIGTERM has ended it (`stopOnSigterm`). Pass it to
 * `distributedCallbacks` on all replicas, since a checkpoint takes all of them. The callback counts
 * `epoch` and `step` of the state.
 *
 * @param folder the folder for the checkpoints; only replica 0 needs it
 * @throws ValueError for invalid arguments, or if there is no such metric as `best` at the end of an
 * epoch; RuntimeError, the same on all replicas, before the training if the optimizer cannot save
 * its state, and later if replica 0 cannot write the files
 *
 * @example
 * ```ts
 * import { mkdtemp, readdir } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { distributedCallbacks, distributedOptimizer, trainingState } from '@coll/tfjs';
 * import { checkpointCallback, restoreCheckpoint } from '@coll/tfjs/node';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const folder = await mkdtemp(join(tmpdir(), 'checkpoints-'));
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run(async (replica) => {
 *   const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [1], units: 1 })] });
 *   model.compile({ optimizer: distributedOptimizer(tf, tf.train.adam(), replica), loss: 'meanSquaredError' });
 *   const state = trainingState(tf, { model });
 *   const resumed = await restoreCheckpoint(folder, state, replica);
 *   await model.fit(tf.ones([4, 1]), tf.ones([4, 1]), {
 *     epochs: 3,
 *     initialEpoch: resumed?.epoch ?? 0,
 *     verbose: 0,
 *     callbacks: distributedCallbacks(tf, checkpointCallback(folder, state, replica, { keep: 2 }), replica),
 *   });
 * });
 * console.log((await readdir(folder)).join()); // checkpoint-000002,checkpoint-000003
 * ```
 */
export function checkpointCallback(
  folder: string,
  state: TrainingState,
  context: ReplicaContext,
  options?: CheckpointCallbackOptions,
): TfCallback {
  return checkpointCallbackOn(nodeDisk, folder, state, context, options);
}

import path from 'node:path';
import { knownOptions, optionsOf } from '@coll/core/internal';
import { logFirst } from '@coll/core/plugin';
import type { ReplicaContext } from '@coll/strategy';
import { onReplica0, requireContext } from '@coll/strategy/internal';
import {
  checkpointFolders,
  NotWhole,
  removeCheckpointFolder,
  requireFolder,
  requireKeep,
  writeCheckpointFolder,
} from '@coll/strategy/internal-node';
import { averageStatistics } from '../average-statistics.js';
import { presentStepOf } from '../present-step.js';
import { collectState, requireState, type TrainingState } from '../training-state.js';
import { type CheckpointNotes, checkpointFiles, readManifest } from './checkpoint-format.js';
import { filesOfModel } from './model-files.js';

/** How a checkpoint is saved. */
export interface SaveCheckpointOptions {
  /**
   * How many checkpoints the folder keeps, at least 1. Older ones are removed. Default: 3.
   */
  readonly keep?: number | undefined;
}

const names = knownOptions<SaveCheckpointOptions>('saveCheckpoint', { keep: true });

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
  const operation = 'saveCheckpoint';
  requireFolder(folder, operation);
  requireState(state, operation);
  requireContext(context, 'broadcast', operation);
  const { keep } = optionsOf(options, '{ keep: 3 }', names);
  return await writeCheckpoint({ folder, state, context, keep: requireKeep(keep, operation), operation });
}

/** A checkpoint to write, with valid arguments. */
export interface Writing {
  readonly folder: string;
  readonly state: TrainingState;
  readonly context: ReplicaContext;
  readonly keep: number;
  readonly operation: string;
  readonly notes?: CheckpointNotes;
  /** Whether the training has ended. Default: false. */
  readonly isLast?: boolean;
}

/** `saveCheckpoint` without the checks of its arguments. */
export async function writeCheckpoint({
  folder,
  state,
  context,
  keep,
  operation,
  notes = {},
  isLast = false,
}: Writing): Promise<string> {
  if (!isLast) warnOfPending(context);
  averageStatistics(state.tf, state.model, context);
  return await onReplica0(context, operation, async () => {
    const snapshot = await collectState(state);
    const files = checkpointFiles(snapshot, await filesOfModel(state.model), notes);
    const written = await writeCheckpointFolder(path.resolve(folder), files);
    await removeOlder(folder, keep);
    return written;
  });
}

/** Warns once if the checkpoint lacks gradients that an undisturbed training would apply. */
function warnOfPending(context: ReplicaContext): void {
  const { pendingSteps } = presentStepOf(context);
  if (pendingSteps === 0 || context.replicaIdInSyncGroup !== 0) return;
  const message = `a checkpoint lacks the gradients of ${pendingSteps} step(s) that distributedOptimizer has accumulated, so that a resumed training differs`;
  const advice = 'save after a multiple of its option `every`';
  logFirst(1, 'checkpoint without accumulated gradients', 'warn', `${message}; ${advice}`);
}

/**
 * Removes all but the newest checkpoints. Keeps the newest one of a whole epoch, too, from which
 * `fit` resumes exactly.
 */
async function removeOlder(folder: string, keep: number): Promise<void> {
  const folders = await checkpointFolders(folder);
  const old = folders.slice(keep);
  if (old.length === 0) return;
  let hasWholeEpoch = false;
  for (const [index, each] of folders.entries()) {
    if (index >= keep && hasWholeEpoch) await removeCheckpointFolder(each);
    else if (!(await isWithinEpoch(each))) hasWholeEpoch = true;
    else if (index >= keep) await removeCheckpointFolder(each);
  }
}

async function isWithinEpoch(folder: string): Promise<boolean> {
  try {
    return (await readManifest(folder)).withinEpoch === true;
  } catch (error) {
    // A damaged checkpoint is none of a whole epoch.
    if (error instanceof NotWhole) return true;
    throw error;
  }
}

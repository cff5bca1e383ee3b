import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import { onReplica0, requireContext } from '@coll/strategy/internal';
import { newestWhole, requireFolder } from '@coll/strategy/internal-node';
import { broadcastState, describeState, requireSameStates } from '../send-state.js';
import {
  misfitOf,
  type Progress,
  requireState,
  restoreState,
  type StateSnapshot,
  type TrainingState,
} from '../training-state.js';
import { type Checkpoint, readCheckpoint } from './checkpoint-format.js';

/** Which checkpoint is restored. */
export interface RestoreCheckpointOptions {
  /**
   * Whether to ignore checkpoints that a callback saved within an epoch, for example because the
   * process was asked to end. `fit` begins each epoch at its first batch, so it would train on some
   * batches of that epoch a second time. Default: false.
   */
  readonly wholeEpochs?: boolean | undefined;
}

const names = knownOptions<RestoreCheckpointOptions>('restoreCheckpoint', { wholeEpochs: true });

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
  const operation = 'restoreCheckpoint';
  requireFolder(folder, operation);
  requireState(state, operation);
  requireContext(context, 'broadcast', operation);
  const { wholeEpochs = false } = optionsOf(options, '{ wholeEpochs: true }', names);
  if (typeof wholeEpochs !== 'boolean') {
    const message = `${operation}: wholeEpochs must be true or false, got ${quote(wholeEpochs)}`;
    throw new ValueError('ERR_COLL_VALUE', message);
  }
  await requireSameStates(state, context);
  let found: StateSnapshot | undefined;
  const description = await onReplica0(context, operation, async () => {
    found = await newestFitting(folder, state, wholeEpochs);
    return found && describeState(found);
  });
  if (!description) return undefined;
  await restoreState(state, await broadcastState(description, found, context));
  const { epoch, step, data } = state;
  return { epoch, step, data };
}

async function newestFitting(
  folder: string,
  state: TrainingState,
  wholeEpochs: boolean,
): Promise<StateSnapshot | undefined> {
  const newest = await newestCheckpoint(folder, ({ notes }) => !(wholeEpochs && notes.withinEpoch));
  const misfit = newest && misfitOf(state, newest.snapshot);
  if (misfit) throw new Error(`${newest.folder} does not fit: ${misfit}`);
  return newest?.snapshot;
}

/** A checkpoint and its folder. */
interface FoundCheckpoint extends Checkpoint {
  readonly folder: string;
}

/**
 * The newest whole checkpoint in a folder, or the folder itself if it is a checkpoint. Logs a
 * warning about damaged ones.
 */
export async function newestCheckpoint(
  folder: string,
  isWanted: (checkpoint: Checkpoint) => boolean = () => true,
): Promise<FoundCheckpoint | undefined> {
  const found = await newestWhole(folder, readCheckpoint, isWanted);
  return found && { ...found.checkpoint, folder: found.folder };
}

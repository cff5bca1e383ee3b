import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import { type Disk, newestWhole, onReplica0, requireContext, requireFolder } from '@coll/strategy/internal';
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

/** `restoreCheckpoint` on a disk. */
export async function restoreCheckpointFrom<Data>(
  disk: Disk,
  folder: string,
  state: TrainingState<Data>,
  context: ReplicaContext,
  options: RestoreCheckpointOptions | undefined,
): Promise<Progress<Data> | undefined> {
  const operation = 'restoreCheckpoint';
  requireFolder(folder, 'restoreCheckpoint(folder, state, context)');
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
    found = await newestFitting(disk, folder, state, wholeEpochs);
    return found && describeState(found);
  });
  if (!description) return undefined;
  await restoreState(state, await broadcastState(description, found, context));
  const { epoch, step, data } = state;
  return { epoch, step, data };
}

async function newestFitting(
  disk: Disk,
  folder: string,
  state: TrainingState,
  wholeEpochs: boolean,
): Promise<StateSnapshot | undefined> {
  const newest = await newestCheckpoint(disk, folder, ({ notes }) => !(wholeEpochs && notes.withinEpoch));
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
  disk: Disk,
  folder: string,
  isWanted: (checkpoint: Checkpoint) => boolean = () => true,
): Promise<FoundCheckpoint | undefined> {
  const found = await newestWhole(disk, folder, readCheckpoint, isWanted);
  return found && { ...found.checkpoint, folder: found.folder };
}

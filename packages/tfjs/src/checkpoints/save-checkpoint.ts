import { knownOptions, optionsOf } from '@coll/core/internal';
import { logFirst } from '@coll/core/plugin';
import type { ReplicaContext } from '@coll/strategy';
import {
  checkpointFolders,
  type Disk,
  NotWhole,
  onReplica0,
  requireContext,
  requireFolder,
  requireKeep,
  writeCheckpointFolder,
} from '@coll/strategy/internal';
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

/** `saveCheckpoint` on a disk. */
export async function saveCheckpointTo(
  disk: Disk,
  folder: string,
  state: TrainingState,
  context: ReplicaContext,
  options: SaveCheckpointOptions | undefined,
): Promise<string> {
  const operation = 'saveCheckpoint';
  requireFolder(folder, 'saveCheckpoint(folder, state, context)');
  requireState(state, operation);
  requireContext(context, 'broadcast', operation);
  const { keep } = optionsOf(options, '{ keep: 3 }', names);
  return await writeCheckpoint({ disk, folder, state, context, keep: requireKeep(keep, operation), operation });
}

/** A checkpoint to write, with valid arguments. */
export interface Writing {
  readonly disk: Disk;
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
  disk,
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
    const files = await checkpointFiles(disk, snapshot, await filesOfModel(state.model), notes);
    const written = await writeCheckpointFolder(disk, disk.path.resolve(folder), files);
    await removeOlder(disk, folder, keep);
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
async function removeOlder(disk: Disk, folder: string, keep: number): Promise<void> {
  const folders = await checkpointFolders(disk, folder);
  const old = folders.slice(keep);
  if (old.length === 0) return;
  let hasWholeEpoch = false;
  for (const [index, each] of folders.entries()) {
    if (index >= keep && hasWholeEpoch) await disk.remove(each);
    else if (!(await isWithinEpoch(disk, each))) hasWholeEpoch = true;
    else if (index >= keep) await disk.remove(each);
  }
}

async function isWithinEpoch(disk: Disk, folder: string): Promise<boolean> {
  try {
    return (await readManifest(disk, folder)).withinEpoch === true;
  } catch (error) {
    // A damaged checkpoint is none of a whole epoch.
    if (error instanceof NotWhole) return true;
    throw error;
  }
}

/**
 * Checkpoints in the files of a page, which only this page can read, and in files that a person saves.
 * @module
 */

export type { CheckpointCallbackOptions, CheckpointInterval } from '../checkpoints/checkpoint-callback.js';
export type { RestoreCheckpointOptions } from '../checkpoints/restore-checkpoint.js';
export type { SaveCheckpointOptions } from '../checkpoints/save-checkpoint.js';
export { exportCheckpoint, importCheckpoint } from './checkpoint-transfer.js';
export { checkpointCallback, restoreCheckpoint, saveCheckpoint } from './checkpoints.js';

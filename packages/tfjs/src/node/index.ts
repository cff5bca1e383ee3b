/**
 * Checkpoints in files, the progress line and the log of metrics, for Node.js.
 * @module
 */

export type { CheckpointCallbackOptions, CheckpointInterval } from '../checkpoints/checkpoint-callback.js';
export type { RestoreCheckpointOptions } from '../checkpoints/restore-checkpoint.js';
export type { SaveCheckpointOptions } from '../checkpoints/save-checkpoint.js';
export { checkpointHandler, registerFileHandler, type TfHandlerRegistry } from './checkpoint-handler.js';
export { checkpointCallback, restoreCheckpoint, saveCheckpoint } from './checkpoints.js';
export { metricsLog } from './metrics-log.js';
export { progressLine } from './progress-line.js';

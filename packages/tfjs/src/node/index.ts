/**
 * Checkpoints in files, the progress line and the log of metrics, for Node.js.
 * @module
 */

export {
  type CheckpointCallbackOptions,
  type CheckpointInterval,
  checkpointCallback,
} from './checkpoint-callback.js';
export { checkpointHandler, registerFileHandler, type TfHandlerRegistry } from './checkpoint-handler.js';
export { metricsLog } from './metrics-log.js';
export { progressLine } from './progress-line.js';
export { type RestoreCheckpointOptions, restoreCheckpoint } from './restore-checkpoint.js';
export { type SaveCheckpointOptions, saveCheckpoint } from './save-checkpoint.js';

/**
 * Checkpoints in files, for Node.js.
 * @module
 */

export { restoreCheckpoint } from './restore-checkpoint.js';
export { type SaveCheckpointOptions, saveCheckpoint } from './save-checkpoint.js';

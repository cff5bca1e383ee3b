/**
 * Checkpoints in files, for Node.js.
 * @module
 */

export type { SaveCheckpointOptions } from '../checkpoints/save-checkpoint.js';
export { restoreCheckpoint, saveCheckpoint } from './checkpoints.js';

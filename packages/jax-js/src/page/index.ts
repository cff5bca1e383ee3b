/**
 * Checkpoints in the files of a page, which only this page can read.
 * @module
 */

export type { SaveCheckpointOptions } from '../checkpoints/save-checkpoint.js';
export { restoreCheckpoint, saveCheckpoint } from './checkpoints.js';

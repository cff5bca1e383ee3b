/** Internal API for Node.js, for this repository's packages of the same version. It may change in any release. */
export { requireFolder, requireKeep } from './node/checkpoint-arguments.js';
export {
  type FileEntries,
  manifestName,
  NotWhole,
  newestWhole,
  readEntries,
  readFields,
  removeOlder,
  withManifest,
} from './node/checkpoint-files.js';
export {
  checkpointFolders,
  type Files,
  flushFolder,
  removeCheckpointFolder,
  writeCheckpointFolder,
  writeFlushed,
} from './node/checkpoint-folders.js';

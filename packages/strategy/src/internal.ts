/** Internal API for this repository's packages of the same version. It may change in any release. */

export { requireFolder, requireKeep } from './checkpoints/checkpoint-arguments.js';
export {
  type FileEntries,
  joined,
  manifestName,
  NotWhole,
  newestWhole,
  type ReadableDisk,
  readEntries,
  readFields,
  withManifest,
} from './checkpoints/checkpoint-files.js';
export { checkpointFolders, removeOlder, writeCheckpointFolder } from './checkpoints/checkpoint-folders.js';
export type { Disk, Files } from './checkpoints/disk.js';
export { pageDisk } from './page/page-disk.js';
export { onRecords, type RecordedRun } from './scope/run-options.js';
export { equalWidth, wereEqual, writeEqual } from './training/equal-numbers.js';
export {
  type AsyncReducer,
  type Exchange,
  exchange,
  exchangeSync,
  type GradientOptions,
  type ReplicaInfo,
  type SyncReducer,
} from './training/exchange.js';
export { combined, stepsBetweenFingerprints, weightedSum } from './training/fingerprint.js';
export { firstNonFinite } from './training/finite.js';
export { hashOf, hashOfBits } from './training/hash.js';
export { broadcastBytes, onReplica0 } from './training/on-replica-0.js';
export { requireContext } from './training/require-context.js';
export { type RunFigures, RunRecords } from './training/run-records.js';
export { requireSameChecksum } from './training/same-checksum.js';
export {
  nearestMultiples,
  ownRowsOfReplica,
  type Remainder,
  rowsOfReplica,
} from './training/share-rule.js';
export { together } from './training/together.js';
export { metered, TrainingMeter, type TrainingSummary, trainingMeterOf } from './training/training-meter.js';
export { gatherValues, oddReplicas, whichAreEqual } from './training/values-of-all.js';

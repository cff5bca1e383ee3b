/** The entry `.` for pages: what needs neither processes nor files. */

export {
  type CallFields,
  type CallOptions,
  CollectiveCommunication,
  CollectiveHints,
  CommunicationImplementation,
  type CommunicationImplementationLike,
  CommunicationOptions,
  type CommunicationOptionsInit,
  ReduceOp,
  type ReduceOpLike,
  type ReplicaCallOptions,
} from '@coll/core';
export {
  chooseTheBest,
  type SelectionOptions,
  selectCrossDeviceOps,
  selectPlugin,
} from './choice/select-cross-device-ops.js';
export { type Accelerators, ClusterResolver, type TaskOptions } from './cluster/cluster-resolver.js';
export { AutoShardPolicy } from './data/auto-shard.js';
export type { DatasetLike, FileDataset, LazyDataset } from './data/dataset.js';
export type { DatasetFunction } from './data/datasets-from-function.js';
export type { Distributed, DistributedDataset } from './data/distributed-dataset.js';
export { InputContext, type InputContextInit } from './data/input-context.js';
export { InputOptions, type InputOptionsInit, InputReplicationMode } from './data/input-options.js';
export { batchSizesForWorker, type WorkerPlace } from './data/sub-batches.js';
export { ValueContext, type ValueContextInit } from './data/value-context.js';
export type { DistributedVariable } from './distributed-variables/distributed-variable.js';
export { MirroredVariable } from './distributed-variables/mirrored-variable.js';
export { SyncOnReadVariable } from './distributed-variables/sync-on-read-variable.js';
export { updateRegroup } from './distributed-variables/update-variable.js';
export { shardForReplica } from './replicas/shard-for-replica.js';
export type { ExtendedMethods } from './scope/extended.js';
export type { ReplicaCollectives } from './scope/replica-collectives.js';
export type {
  MainExport,
  ModuleOptionsOf,
  ModuleResult,
  RunOptions,
  RunOptionsOf,
  RunSettings,
} from './scope/run-options.js';
export {
  type MergeFunction,
  type ReplicaCode,
  type ReplicaContext,
  type ReplicaFunction,
  Strategy,
  StrategyExtended,
} from './scope/strategy.js';
export type {
  Arriving,
  Axes,
  LocalResult,
  Movable,
  Passed,
  Reduced,
  ReducedAcross,
  ReducedLater,
  ReducedTo,
  Reducible,
  Regrouped,
} from './scope/structure-types.js';
export type { WorkerGroup } from './scope/worker-group.js';
export {
  experimentalSetStrategy,
  getReplicaContext,
  getStrategy,
  hasStrategy,
  inCrossReplicaContext,
  variable,
} from './strategies/current-strategy.js';
export {
  MirroredStrategy,
  type MirroredStrategyOptions,
  type StrategyExplanation,
} from './strategies/mirrored-strategy.js';
export type { GradientOptions } from './training/exchange.js';
export { summarizeTraining } from './training/summarize-training.js';
export type { TrainingSummary } from './training/training-meter.js';
export type { Change } from './variables/change.js';
export type { LocalVariable } from './variables/local-variable.js';
export type { UpdateFunction, UpdateOptions } from './variables/update-options.js';
export { Variable } from './variables/variable.js';
export {
  VariableAggregation,
  type VariableOptions,
  VariableSynchronization,
  type VariableTraits,
  type VariableValue,
} from './variables/variable-options.js';

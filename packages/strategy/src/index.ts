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
  type ClusterDescription,
  ClusterSpec,
  collectiveLeader,
  type Environment,
  idInCluster,
  isChief,
  type JobTasks,
  type Membership,
  membershipFrom,
  type Task,
  validateCluster,
  workerCount,
} from '@coll/rendezvous/internal';
export { type Accelerators, ClusterResolver, type TaskOptions } from './cluster/cluster-resolver.js';
export { EnvironmentClusterResolver, type EnvironmentOptions } from './cluster/environment-cluster-resolver.js';
export type { KubernetesClient, Pod } from './cluster/kubernetes-client.js';
export { KubernetesClusterResolver, type KubernetesOptions } from './cluster/kubernetes-cluster-resolver.js';
export { type SimpleClusterOptions, SimpleClusterResolver } from './cluster/simple-cluster-resolver.js';
export { SlurmClusterResolver, type SlurmOptions } from './cluster/slurm-cluster-resolver.js';
export { TFConfigClusterResolver, type TFConfigOptions } from './cluster/tf-config-cluster-resolver.js';
export { type UnionOptions, UnionResolver } from './cluster/union-cluster-resolver.js';
export {
  experimentalSetStrategy,
  getReplicaContext,
  getStrategy,
  hasStrategy,
  inCrossReplicaContext,
} from './current-strategy.js';
export { AutoShardPolicy } from './data/auto-shard.js';
export type { DatasetLike, FileDataset, LazyDataset } from './data/dataset.js';
export type { DatasetFunction } from './data/datasets-from-function.js';
export type { Distributed, DistributedDataset } from './data/distributed-dataset.js';
export { InputContext, type InputContextInit } from './data/input-context.js';
export { InputOptions, type InputOptionsInit, InputReplicationMode } from './data/input-options.js';
export { shardForReplica } from './data/shard-for-replica.js';
export { batchSizesForWorker, type WorkerPlace } from './data/sub-batches.js';
export { ValueContext, type ValueContextInit } from './data/value-context.js';
export { StrategyExtended } from './extended.js';
export { MirroredStrategy, type MirroredStrategyOptions, type StrategyExplanation } from './mirrored-strategy.js';
export {
  ExperimentalMultiWorkerMirroredStrategy,
  type ExperimentalMultiWorkerMirroredStrategyOptions,
} from './multi-worker/experimental-strategy.js';
export type { MultiWorkerExtended, MultiWorkerHome } from './multi-worker/multi-worker-extended.js';
export {
  type MultiWorkerExplanation,
  MultiWorkerMirroredStrategy,
  type MultiWorkerMirroredStrategyOptions,
} from './multi-worker/multi-worker-mirrored-strategy.js';
export type { TransportOptions } from './multi-worker/open-worker-group.js';
export type { JobOptions } from './multi-worker/store-address.js';
export type { MergeFunction, ReplicaContext } from './replica-context.js';
export type {
  MainExport,
  ModuleOptionsOf,
  ModuleResult,
  RunOptions,
  RunOptionsOf,
  RunSettings,
} from './run-options.js';
export {
  chooseTheBest,
  type SelectionOptions,
  selectCrossDeviceOps,
  selectPlugin,
} from './select-cross-device-ops.js';
export { type ReplicaCode, type ReplicaFunction, Strategy } from './strategy.js';
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
} from './structure-types.js';
export type { Change } from './variables/change.js';
export type { DistributedVariable } from './variables/distributed-variable.js';
export type { LocalVariable } from './variables/local-variable.js';
export { MirroredVariable } from './variables/mirrored-variable.js';
export { variable } from './variables/new-variable.js';
export { SyncOnReadVariable } from './variables/sync-on-read-variable.js';
export { type UpdateFunction, type UpdateOptions, updateRegroup } from './variables/update-variable.js';
export { Variable } from './variables/variable.js';
export {
  VariableAggregation,
  type VariableOptions,
  VariableSynchronization,
  type VariableTraits,
  type VariableValue,
} from './variables/variable-options.js';
export type { WorkerGroup } from './worker-group.js';

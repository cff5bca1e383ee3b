export {
  AllReduceOps,
  type AllReduceOptions,
  type AllReduceSetup,
} from './all-reduce-ops.js';
export { addN, combine, divide, requireAlike } from './arithmetic.js';
export {
  type CallFields,
  type CallOptions,
  partOf,
  type ResolvedOptions,
  resolveCallOptions,
  runOptionsOf,
} from './call-options.js';
export type { CallerRequest } from './caller-request.js';
export {
  type Collective,
  type CollectiveKind,
  type CollectiveOp,
  collectiveKinds,
  nameOf,
  opOf,
  outputDType,
  outputLength,
  rootOf,
  variantOf,
} from './collective.js';
export {
  CollectiveCommunication,
  CollectiveHints,
  CommunicationImplementation,
  type CommunicationImplementationLike,
  CommunicationOptions,
  type CommunicationOptionsInit,
} from './communication-options.js';
export type { Communicator, Group, RunOptions, Segments } from './communicator.js';
export { concatAlong } from './concat-along.js';
export { CrossDeviceOps } from './cross-device-ops.js';
export {
  allDevicesMatch,
  type Destinations,
  devicesMatch,
  getDevicesFrom,
  requireDistinct,
  validateDestinations,
} from './destinations.js';
export {
  canonicalize,
  canonicalizeWithoutJobAndTask,
  type DeviceFields,
  DeviceSpec,
  deviceType,
  hostForDevice,
  localDevicesFromNumGpus,
  sameDevice,
} from './device.js';
export {
  componentOf,
  containerOf,
  containerSymbol,
  DistributedValues,
  distributedValuesSymbol,
  Mirrored,
  onDeviceOrPrimary,
  PerReplica,
  textOf,
} from './distributed-values.js';
export {
  accumulatorOf,
  byteSize,
  type DType,
  dtypes,
  isDType,
  isFloating,
  isHalf,
  quotientOf,
  type TypedArray,
  viewOf,
} from './dtype.js';
export { decodeNumber, encodeNumber, toNumbers } from './element.js';
export type {
  Engine,
  EngineCandidate,
  EngineName,
  EngineRequest,
  EngineResolution,
  JoinRequest,
  ProbeResult,
  ThreadGroup,
  ThreadGroupOptions,
} from './engine.js';
export { registerEngine, resolveEngine } from './engines.js';
export {
  AbortedError,
  AssertionError,
  CollError,
  DeadlineExceededError,
  type ErrorCode,
  type ErrorDetails,
  InternalError,
  InvalidArgumentError,
  KeyError,
  NotImplementedError,
  OutOfRangeError,
  RuntimeError,
  UnavailableError,
  ValueError,
  WrongTypeError,
} from './errors.js';
export type { Explanation } from './explanation.js';
export type { FailureReason } from './failures.js';
export { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from './half.js';
export { communicatorOf } from './hierarchical/communicator-of.js';
export { type HierarchicalOptions, hierarchical } from './hierarchical/hierarchical-communicator.js';
export { rankOfWorker, type WorkerSeatOptions } from './hierarchical/rank-of-worker.js';
export { type LogLevel, type LogSink, log, logDeprecated, logFirst, setLogSink } from './logger.js';
export { messageOf } from './message-of.js';
export { optionsOf } from './options-of.js';
export type { PackingOptions } from './packing/arrangement.js';
export { ConcatAndSplitPacker } from './packing/concat-and-split-packer.js';
export { groupBySize } from './packing/group-by-size.js';
export type { Packer } from './packing/packer.js';
export type { FindRoutes, Route } from './packing/routes.js';
export { extractRanges, type Ranges } from './packing/small-ranges.js';
export { AggregateSmallTensorPacker } from './packing/small-tensor-packer.js';
export {
  type Capabilities,
  type CrossDeviceOpsOptionsMap,
  definePlugin,
  type Plugin,
  pluginApiVersion,
  type Situation,
} from './plugins/plugin.js';
export type { Candidate } from './plugins/plugin-choice.js';
export {
  createRegistry,
  type PluginName,
  type PluginRequest,
  Registry,
  type Resolution,
  registry,
  requireRegistry,
} from './plugins/registry.js';
export { requireWorld, type World } from './plugins/world.js';
export { PortableCommunicator, type PortableCommunicatorOptions } from './portable/portable-communicator.js';
export { type Link, type ProcessGroup, requireGivenGroup, requireProcessGroup } from './process-group.js';
export { quote } from './quote.js';
export { isReduceOp, ReduceOp, type ReduceOpLike, reduceOpFrom, reduceOps } from './reduce-op.js';
export {
  asPerReplica,
  type PossiblyMirrored,
  type ReadyPair,
  type ReducibleLike,
  type ValueDestinationPair,
} from './reducible.js';
export { mirror, type RegroupOptions, regroup, selectReplica, selectReplicaMirrored } from './regroup.js';
export { reducedAlone } from './replicas/alone.js';
export { type ArrivingStructure, type ArrivingValue, isArriving, reduceArriving } from './replicas/arriving-values.js';
export { type Batch, perReplica, type ReplicaRequest, type ValueLists } from './replicas/batch.js';
export { currentReplica, findCurrentReplica } from './replicas/current-replica.js';
export { type ErrorFor, type Joining, Rendezvous, type RendezvousOptions } from './replicas/rendezvous.js';
export {
  arrivingCall,
  broadcastCall,
  gatherCall,
  type ReplicaCall,
  type ReplicaCallOptions,
  type ReplicaValue,
  reduceCall,
  requireDense,
} from './replicas/replica-call.js';
export { type GroupCall, ReplicaGroup, type ReplicaGroupOptions } from './replicas/replica-group.js';
export type { ReplicaPlay } from './replicas/replica-play.js';
export {
  requireCommunicator,
  requireFunction,
  requireList,
  requireTensorLists,
  requireTensors,
} from './requirements.js';
export type { BatchReduceOptions, ReduceOptions } from './result-targets.js';
export { resultsFor, writtenTo } from './results.js';
export { requireTimeout } from './run-options.js';
export type { Algorithm, Round, Schedule, Transfer } from './schedule/schedule.js';
export { requireSignal } from './signal.js';
export { aggregateTensorsOrIndexedSlices, combineMixed, concatenateSlices } from './sparse/aggregate-slices.js';
export { deduplicate } from './sparse/deduplicate.js';
export { densify } from './sparse/densify.js';
export { IndexedSlices } from './sparse/indexed-slices.js';
export {
  asValue,
  copyToDevice,
  divideByN,
  isIndexedSlices,
  splitBySparsity,
  stitchValues,
  type Value,
  viewOnDevice,
} from './sparse/sparse.js';
export { flatten, formOf, isMapping, mapStructure, packLike, type Structure, zipStructures } from './structure.js';
export {
  asTensor,
  type DeviceMemory,
  elementCount,
  isTensor,
  isTensorLike,
  type Tensor,
  type TensorCarrier,
  type TensorLike,
  type TensorOptions,
  tensor,
  tensorSymbol,
  zeros,
} from './tensor.js';
export { type JoinOptions, ThreadCommunicator } from './threads/thread-communicator.js';
export { jsEngine } from './threads/thread-engine.js';
export { createThreadGroup, failThreadGroup } from './threads/thread-group.js';
export { afterSeconds, longestTimer } from './timer.js';
export { wasmEngine } from './wasm/wasm-engine.js';
export { portableWorld, processWorld, threadWorld } from './worlds.js';

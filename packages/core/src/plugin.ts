/**
 * The API for authors of algorithms, engines and cross-device ops, in addition to `@coll/core` and
 * `@coll/core/schedule`.
 * @module
 */

export { type BufferCheck, refusedCollective, validateBuffers } from './collectives/buffers.js';
export {
  abortedError,
  busyError,
  type CallDetails,
  clashError,
  closedError,
  lostBufferError,
  refusedError,
} from './collectives/call-errors.js';
export { type AskedCall, type CallerRequest, operationOf, type Purpose } from './collectives/caller-request.js';
export {
  type Collective,
  type CollectiveKind,
  type CollectiveOp,
  collectiveKinds,
  collectiveOps,
  nameOf,
  opOf,
  outputDType,
  outputLength,
  reads,
  rootOf,
  variantOf,
  writes,
} from './collectives/collective.js';
export type {
  CommunicationImplementation,
  CommunicationImplementationLike,
  CommunicationOptions,
  CommunicationOptionsInit,
} from './collectives/communication-options.js';
export { type ReduceOp, reduceOpFrom, reduceOps } from './collectives/reduce-op.js';
export { registerEngine } from './engines/engines.js';
export { requireWorld, type World, type WrapCommunicator } from './engines/world.js';
export { portableWorld, processWorld, threadWorld } from './engines/worlds.js';
export { combine, divide } from './kernels/arithmetic.js';
export { concatAlong } from './kernels/concat-along.js';
export type { Link, ProcessGroup } from './members/process-group.js';
export type { AllReduceSetup } from './ops/all-reduce-ops.js';
export type { CrossDeviceOps } from './ops/cross-device-ops.js';
export type { Explanation } from './ops/explanation.js';
export type { ReadyPair, ReducibleLike, ValueDestinationPair } from './ops/reducible.js';
export type { BatchReduceOptions, ReduceOptions } from './ops/result-targets.js';
export type { PackingOptions } from './packing/arrangement.js';
export { JoiningCommunicator } from './packing/joining-communicator.js';
export type { FindRoutes, Route } from './packing/routes.js';
export { type Capabilities, type Plugin, pluginApiVersion, type Situation } from './plugins/plugin.js';
export type { ArrivingStructure, ArrivingValue } from './replicas/arriving-values.js';
export type { ReplicaCallOptions, ReplicaValue } from './replicas/replica-call.js';
export type { ReplicaGroup } from './replicas/replica-group.js';
export type { ReplicaPlan } from './replicas/replica-plan.js';
export type { ArenaMemory } from './runtime/arena.js';
export { lostRank, type PreparedBuffer, type PreparedCall } from './runtime/call-cache.js';
export type { CallFields, CallOptions, ResolvedOptions } from './runtime/call-options.js';
export { CallOrder, type Turn } from './runtime/call-order.js';
export type {
  Communicator,
  Group,
  PersistentCollective,
  RunOptions,
  Segments,
  ValuePart,
} from './runtime/communicator.js';
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
} from './runtime/engine.js';
export { type ForwardedCall, ForwardingCommunicator, type ReplacementCall } from './runtime/forwarding-communicator.js';
export { OrderedCommunicator } from './runtime/ordered-communicator.js';
export { type CheckedCall, listOf, type SegmentList } from './runtime/segment-list.js';
export type { WasmMemory } from './runtime/web-assembly.js';
export { Planner } from './schedule/planner.js';
export type { Algorithm, Round, Schedule, StreamedSchedule, Transfer } from './schedule/schedule.js';
export { type Step, stepsOf } from './schedule/steps.js';
export { concatenateSlices } from './sparse/aggregate-slices.js';
export { copyToDevice, viewOnDevice } from './sparse/sparse.js';
export type { AbortedError, CollError, ErrorCode, ErrorDetails, RuntimeError, ValueError } from './support/errors.js';
export { type LogLevel, logFirst } from './support/logger.js';
export { createThreadGroup } from './threads/thread-group.js';
export { allDevicesMatch, type Destinations, devicesMatch } from './values/destinations.js';
export { deviceType, sameDevice } from './values/device.js';
export type { DistributedValues, Mirrored, PossiblyMirrored } from './values/distributed-values.js';
export { byteSize, type DType, isFloating, isHalf, quotientOf, type TypedArray, viewOf } from './values/dtype.js';
export type { IndexedSlices, Value } from './values/indexed-slices.js';
export { mirror } from './values/regroup.js';
export type { Structure } from './values/structure.js';
export { type DeviceMemory, elementCount, type Tensor, type TensorCarrier, type TensorLike } from './values/tensor.js';

/** For authors of algorithms, engines and cross-device ops, beside `@coll/core` and `@coll/core/schedule`. */
export type { AllReduceSetup } from './all-reduce-ops.js';
export { combine, divide } from './arithmetic.js';
export { type BufferCheck, refusedCollective, validateBuffers } from './buffers.js';
export {
  abortedError,
  busyError,
  type CallDetails,
  clashError,
  closedError,
  lostBufferError,
  refusedError,
} from './call-errors.js';
export type { CallFields, CallOptions, ResolvedOptions } from './call-options.js';
export { CallOrder, type Turn } from './call-order.js';
export { type AskedCall, type CallerRequest, operationOf } from './caller-request.js';
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
} from './collective.js';
export type {
  CommunicationImplementation,
  CommunicationImplementationLike,
  CommunicationOptions,
  CommunicationOptionsInit,
} from './communication-options.js';
export type { Communicator, Group, RunOptions, Segments } from './communicator.js';
export { concatAlong } from './concat-along.js';
export type { CrossDeviceOps } from './cross-device-ops.js';
export { allDevicesMatch, type Destinations, devicesMatch } from './destinations.js';
export { deviceType, sameDevice } from './device.js';
export type { DistributedValues, Mirrored } from './distributed-values.js';
export { byteSize, type DType, isFloating, isHalf, quotientOf, type TypedArray, viewOf } from './dtype.js';
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
export { registerEngine } from './engines.js';
export type { AbortedError, CollError, ErrorCode, ErrorDetails, RuntimeError, ValueError } from './errors.js';
export type { Explanation } from './explanation.js';
export { type LogLevel, logFirst } from './logger.js';
export type { PackingOptions } from './packing/arrangement.js';
export { JoiningCommunicator } from './packing/joining-communicator.js';
export type { FindRoutes, Route } from './packing/routes.js';
export { type Capabilities, type Plugin, pluginApiVersion, type Situation } from './plugins/plugin.js';
export { requireWorld, type World } from './plugins/world.js';
export type { Link, ProcessGroup } from './process-group.js';
export { type ReduceOp, reduceOpFrom, reduceOps } from './reduce-op.js';
export type { PossiblyMirrored, ReadyPair, ReducibleLike, ValueDestinationPair } from './reducible.js';
export { mirror } from './regroup.js';
export type { ArrivingStructure, ArrivingValue } from './replicas/arriving-values.js';
export type { ReplicaCallOptions, ReplicaValue } from './replicas/replica-call.js';
export type { ReplicaGroup } from './replicas/replica-group.js';
export type { ReplicaPlay } from './replicas/replica-play.js';
export type { BatchReduceOptions, ReduceOptions } from './result-targets.js';
export { Planner } from './schedule/planner.js';
export type { Algorithm, Round, Schedule, StreamedSchedule, Transfer } from './schedule/schedule.js';
export { type Step, stepsOf } from './schedule/steps.js';
export { concatenateSlices } from './sparse/aggregate-slices.js';
export type { IndexedSlices } from './sparse/indexed-slices.js';
export { copyToDevice, type Value, viewOnDevice } from './sparse/sparse.js';
export type { Structure } from './structure.js';
export { type DeviceMemory, elementCount, type Tensor, type TensorCarrier, type TensorLike } from './tensor.js';
export type { ArenaMemory } from './threads/arena.js';
export { type KnownBuffer, type KnownCall, lostRank } from './threads/known-calls.js';
export { OrderedCommunicator } from './threads/ordered-communicator.js';
export { type CheckedCall, listOf, type Pieces } from './threads/pieces.js';
export { createThreadGroup } from './threads/thread-group.js';
export type { WasmMemory } from './wasm/web-assembly.js';
export { portableWorld, processWorld, threadWorld } from './worlds.js';

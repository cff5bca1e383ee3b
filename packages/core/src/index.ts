export type { CallerRequest } from './collectives/caller-request.js';
export type { Collective, CollectiveKind, CollectiveOp } from './collectives/collective.js';
export {
  CollectiveCommunication,
  CollectiveHints,
  CommunicationImplementation,
  type CommunicationImplementationLike,
  CommunicationOptions,
  type CommunicationOptionsInit,
} from './collectives/communication-options.js';
export type { FailureReason } from './collectives/failures.js';
export { ReduceOp, type ReduceOpLike } from './collectives/reduce-op.js';
export type { CombinedData, DTypeAfter, MemoryFor, ReducedOnDevices, ReducedValue } from './collectives/value-types.js';
export { ConcatAndSplitPacker } from './compat/concat-and-split-packer.js';
export { groupBySize } from './compat/group-by-size.js';
export { AggregateSmallTensorPacker } from './compat/small-tensor-packer.js';
export { resolveEngine } from './engines/engines.js';
export {
  type JoinThreadGroupOptions,
  joinThreadGroup,
  type OpenMembersOptions,
  openMembers,
} from './engines/open-members.js';
export type { World } from './engines/world.js';
export { communicatorOf } from './hierarchical/communicator-of.js';
export { type HierarchicalOptions, hierarchical } from './hierarchical/hierarchical-communicator.js';
export { jsEngine } from './js/js-engine.js';
export { addN } from './kernels/arithmetic.js';
export type { LinkSpeed, LinkSpeeds } from './members/link-measurement.js';
export type { Member } from './members/member.js';
export type { MemberData, MemberOptions, WaitingOptions } from './members/member-options.js';
export type { Link, ProcessGroup } from './members/process-group.js';
export { AllReduceOps, type AllReduceOptions, type AllReduceSetup } from './ops/all-reduce-ops.js';
export { CrossDeviceOps } from './ops/cross-device-ops.js';
export type { Explanation } from './ops/explanation.js';
export type { ReadyPair, ReducibleLike, ValueDestinationPair } from './ops/reducible.js';
export type { BatchReduceOptions, ReduceOptions } from './ops/result-targets.js';
export type { PackingOptions } from './packing/arrangement.js';
export type { FindRoutes, Route } from './packing/routes.js';
export { extractRanges, type Ranges } from './packing/small-ranges.js';
export {
  type Capabilities,
  type CrossDeviceOpsOptionsMap,
  definePlugin,
  type Plugin,
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
} from './plugins/registry.js';
export type { CallEvent, GroupEvent, GroupLostEvent } from './record/call-event.js';
export type { ArrivingStructure, ArrivingValue } from './replicas/arriving-values.js';
export type { ReplicaCallOptions, ReplicaValue } from './replicas/replica-call.js';
export type { ReplicaGroup } from './replicas/replica-group.js';
export type { ReplicaPlan } from './replicas/replica-plan.js';
export type { ArenaMemory } from './runtime/arena.js';
export type { CallFields, CallOptions, ResolvedOptions } from './runtime/call-options.js';
export type { CallOrder, Turn } from './runtime/call-order.js';
export type {
  Communicator,
  Group,
  PersistentCollective,
  RunOptions,
  Segments,
  SplitPart,
  SubGroup,
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
export type { WasmMemory } from './runtime/web-assembly.js';
export type { Algorithm, Round, Schedule, StreamedSchedule, Transfer } from './schedule/schedule.js';
export { aggregateTensorsOrIndexedSlices } from './sparse/aggregate-slices.js';
export { deduplicate } from './sparse/deduplicate.js';
export { densify } from './sparse/densify.js';
export { divideByN, isIndexedSlices, type SplitValues, splitBySparsity, stitchValues } from './sparse/sparse.js';
export { OutOfRangeError, WrongTypeError } from './support/built-in-errors.js';
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
  RuntimeError,
  UnavailableError,
  ValueError,
} from './support/errors.js';
export { type LogFields, type LogLevel, type LogSink, type LogValue, setLogSink } from './support/logger.js';
export { failThreadGroup } from './threads/thread-group.js';
export { type Destinations, getDevicesFrom, validateDestinations } from './values/destinations.js';
export {
  canonicalize,
  canonicalizeWithoutJobAndTask,
  type DeviceFields,
  DeviceSpec,
  hostForDevice,
  localDevicesFromNumGpus,
} from './values/device.js';
export { DistributedValues, Mirrored, PerReplica, type PossiblyMirrored } from './values/distributed-values.js';
export {
  type DType,
  dtypes,
  type Float16ArrayLike,
  type NaturalDType,
  type TypedArray,
  type TypedArrayOf,
} from './values/dtype.js';
export { toNumbers } from './values/element.js';
export { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from './values/half.js';
export { IndexedSlices, type Value } from './values/indexed-slices.js';
export { type RegroupOptions, regroup, selectReplica, selectReplicaMirrored } from './values/regroup.js';
export type { Structure } from './values/structure.js';
export {
  asTensor,
  type DeviceMemory,
  type DTypeOf,
  isTensor,
  type Tensor,
  type TensorCarrier,
  type TensorLike,
  type TensorOptions,
  tensor,
  tensorSymbol,
  zeros,
} from './values/tensor.js';
export { wasmEngine } from './wasm/wasm-engine.js';

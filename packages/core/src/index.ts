export { AllReduceOps, type AllReduceOptions, type AllReduceSetup } from './all-reduce-ops.js';
export { addN } from './arithmetic.js';
export type { CallFields, CallOptions, ResolvedOptions } from './call-options.js';
export type { CallOrder, Turn } from './call-order.js';
export type { CallerRequest } from './caller-request.js';
export type { Collective, CollectiveKind, CollectiveOp } from './collective.js';
export {
  CollectiveCommunication,
  CollectiveHints,
  CommunicationImplementation,
  type CommunicationImplementationLike,
  CommunicationOptions,
  type CommunicationOptionsInit,
} from './communication-options.js';
export type { Communicator, Group, RunOptions, Segments, SubGroup } from './communicator.js';
export { CrossDeviceOps } from './cross-device-ops.js';
export { type Destinations, getDevicesFrom, validateDestinations } from './destinations.js';
export {
  canonicalize,
  canonicalizeWithoutJobAndTask,
  type DeviceFields,
  DeviceSpec,
  hostForDevice,
  localDevicesFromNumGpus,
} from './device.js';
export { DistributedValues, Mirrored, PerReplica } from './distributed-values.js';
export { type DType, dtypes, type NaturalDType, type TypedArray, type TypedArrayOf } from './dtype.js';
export { toNumbers } from './element.js';
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
export { resolveEngine } from './engines.js';
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
export { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from './half.js';
export { communicatorOf } from './hierarchical/communicator-of.js';
export { type HierarchicalOptions, hierarchical } from './hierarchical/hierarchical-communicator.js';
export { jsEngine } from './js/js-engine.js';
export { type LogLevel, type LogSink, setLogSink } from './logger.js';
export type { Member, MemberData, MemberOptions, WaitingOptions } from './members/member.js';
export {
  type JoinThreadGroupOptions,
  joinThreadGroup,
  type OpenMembersOptions,
  openMembers,
} from './members/open-members.js';
export type { SplitPart } from './members/split.js';
export type { PackingOptions } from './packing/arrangement.js';
export { ConcatAndSplitPacker } from './packing/concat-and-split-packer.js';
export { groupBySize } from './packing/group-by-size.js';
export type { FindRoutes, Route } from './packing/routes.js';
export { extractRanges, type Ranges } from './packing/small-ranges.js';
export { AggregateSmallTensorPacker } from './packing/small-tensor-packer.js';
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
export type { World } from './plugins/world.js';
export type { Link, ProcessGroup } from './process-group.js';
export { ReduceOp, type ReduceOpLike } from './reduce-op.js';
export type { PossiblyMirrored, ReadyPair, ReducibleLike, ValueDestinationPair } from './reducible.js';
export { type RegroupOptions, regroup, selectReplica, selectReplicaMirrored } from './regroup.js';
export type { ArrivingStructure, ArrivingValue } from './replicas/arriving-values.js';
export type { ReplicaCallOptions, ReplicaValue } from './replicas/replica-call.js';
export type { ReplicaGroup } from './replicas/replica-group.js';
export type { ReplicaPlay } from './replicas/replica-play.js';
export type { BatchReduceOptions, ReduceOptions } from './result-targets.js';
export type { Algorithm, Round, Schedule, StreamedSchedule, Transfer } from './schedule/schedule.js';
export { aggregateTensorsOrIndexedSlices } from './sparse/aggregate-slices.js';
export { deduplicate } from './sparse/deduplicate.js';
export { densify } from './sparse/densify.js';
export { IndexedSlices } from './sparse/indexed-slices.js';
export {
  divideByN,
  isIndexedSlices,
  type SplitValues,
  splitBySparsity,
  stitchValues,
  type Value,
} from './sparse/sparse.js';
export type { Structure } from './structure.js';
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
} from './tensor.js';
export type { ArenaMemory } from './threads/arena.js';
export type { CombinedData, DTypeAfter, MemoryFor, ReducedOnDevices, ReducedValue } from './value-types.js';
export { wasmEngine } from './wasm/wasm-engine.js';
export type { WasmMemory } from './wasm/web-assembly.js';

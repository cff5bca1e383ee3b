/** Internal API for this repository's packages of the same version. It may change in any release. */

export { requireCall } from './collectives/buffers.js';
export { purposeName } from './collectives/caller-request.js';
export {
  bufferLengths,
  hasOneResult,
  inputBlocks,
  isSameCollective,
  outputBlocks,
  refusedArithmetic,
  refusedSparse,
} from './collectives/collective.js';
export {
  type Failure,
  failureError,
  failureOf,
  failureReasons,
  mostOtherRanks,
  nameIn,
} from './collectives/failures.js';
export { noRefusals, type Refusals, refusalFailure, refusedAgain } from './collectives/refusals.js';
export { RankNames } from './hierarchical/rank-names.js';
export { rankOfWorker } from './hierarchical/rank-of-worker.js';
export { fromAccumulator, toAccumulator } from './kernels/arithmetic.js';
export { communicatorFor, routeAlgorithm } from './members/algorithm-router.js';
export { ControllerGroup, requireCollError } from './members/controller-group.js';
export { type GroupFacts, GroupLog } from './members/group-log.js';
export { type LinkMeasurement, linkMeasurementOf, setLinkMeasurement, speedsText } from './members/link-measurement.js';
export { LocalMembers } from './members/local-members.js';
export { type LocalGroup, Member, type MemberSetup } from './members/member.js';
export { requireGivenGroup, requireProcessGroup } from './members/process-group.js';
export { groupOfRank } from './members/split.js';
export { PointToPoint } from './messages/point-to-point.js';
export type { MessageId, Post, Postbox } from './messages/postbox.js';
export { refusedMessages } from './messages/refused-messages.js';
export { overriddenReduce, workerCountOf } from './ops/overridden-reduce.js';
export { arrange, type Pack } from './packing/arrangement.js';
export { requireRegistry } from './plugins/registry.js';
export {
  type CallEvent,
  callEvent,
  type GroupEvent,
  groupEvent,
  groupLostEvent,
  messageEvent,
} from './record/call-event.js';
export {
  type CallState,
  callStates,
  exactBytes,
  type NoteKind,
  noteKinds,
  recordEnds,
  recordedNames,
  recordedVerbs,
  recordLayout,
} from './record/layout.js';
export { type RecordedThread, Recorder, recordBytes } from './record/recorder.js';
export {
  type CallRecorder,
  type GroupIdentity,
  type RecordedCall,
  type RecordedCommunicator,
  type RecordedGroup,
  type RecordedMessage,
  type RecordedNote,
  recordedCommunicator,
  recordedGroup,
  recorder,
  recordFailure,
  resumed,
  setRecorder,
} from './record/recorder-hook.js';
export { isArriving } from './replicas/arriving-values.js';
export { type Batch, type DenseBatch, isDense, perReplica, type ValueLists } from './replicas/batch.js';
export { combineHere, combineOnDevices, isDirect } from './replicas/combine-here.js';
export {
  type EndRequests,
  endRequestsOf,
  ProcessEndRequests,
  setEndRequests,
  ThreadEndRequests,
} from './replicas/end-requests.js';
export { type GroupCall, requireDense } from './replicas/replica-call.js';
export { ReplicaGroup } from './replicas/replica-group.js';
export { leaveRunNote, logRunNotes, type RunNote, runOf, silenceRunNote, takeRunNote } from './replicas/run-note.js';
export { Arena } from './runtime/arena.js';
export { optionsAt, partOf, resolveCallOptions, resolveWithoutInto, runOptionsOf } from './runtime/call-options.js';
export { checkedResults, requireCheckResults } from './runtime/checked-results.js';
export { ControllerCommunicator } from './runtime/controller-communicator.js';
export {
  askedBy,
  bytesOfDescriptors,
  type Descriptor,
  Descriptors,
  nowhere,
  scheduleNumber,
} from './runtime/descriptors.js';
export { drive, stepOf, type Work, workDone } from './runtime/drive.js';
export { nextTurn } from './runtime/event-loop.js';
export { type ErrorFor, type Joining, Rendezvous } from './runtime/rendezvous.js';
export { deadlineOf, requireRunOptions, setRunOptions } from './runtime/run-options.js';
export { checkedCall } from './runtime/segment-list.js';
export { endedAtOnce } from './runtime/until-all-have-ended.js';
export { type StepsByChunk, stepsByChunk } from './schedule/steps-by-chunk.js';
export { combineMixed } from './sparse/aggregate-slices.js';
export { bySparsity } from './sparse/by-sparsity.js';
export { asValue } from './sparse/sparse.js';
export { environment } from './support/environment.js';
export { type Addon, type AddonPlaces, type AddonSearch, findAddon } from './support/find-addon.js';
export type {
  Host,
  HostChannel,
  HostContext,
  HostThread,
  OwnThread,
  ThreadListener,
  ThreadOptions,
} from './support/host.js';
export { type KnownOptions, knownOptions, requireKnownOptions } from './support/known-options.js';
export { isReplicaThread, joinLogOrigin, setLogOrigin } from './support/log-origin.js';
export { isLogged, type LogLevel, log, logDeprecated } from './support/logger.js';
export { messageOf } from './support/message-of.js';
export { warnOfOpenTraffic } from './support/open-traffic.js';
export { availableCores } from './support/operating-system.js';
export { optionsOf } from './support/options-of.js';
export { bytesText, countText, secondsText, shareText } from './support/quantities.js';
export { quote } from './support/quote.js';
export { allRanks, oneRank } from './support/ranks.js';
export { release } from './support/release.js';
export { requireFunction, requireList, requireTimeout } from './support/requirements.js';
export { requireSignal } from './support/signal.js';
export { CallTimes, SlowCallLog } from './support/slow-calls.js';
export {
  quietText,
  rankList,
  type Stall,
  type StallListener,
  StallReporter,
  stallText,
  type WaitingCall,
} from './support/stalls.js';
export { afterSeconds, longestTimer } from './support/timer.js';
export { hasStack, withoutStack } from './support/without-stack.js';
export { ReferenceCommunicator, type ReferenceCommunicatorOptions } from './testing/reference-communicator.js';
export { attended } from './threads/attended.js';
export { SharedBarrier, type Wait, waitOf } from './threads/shared-barrier.js';
export { ThreadCommunicator } from './threads/thread-communicator.js';
export { requireJoin } from './threads/thread-group.js';
export { type ThreadEngine, ThreadRank } from './threads/thread-rank.js';
export { type WaitingRanks, waitingRanks } from './threads/thread-stalls.js';
export { asGiven } from './values/array-kinds.js';
export { requireAttached } from './values/attached.js';
export { findCurrentReplica } from './values/current-replica.js';
export { requireDistinct } from './values/destinations.js';
export {
  componentOf,
  containerOf,
  containerSymbol,
  distributedValuesSymbol,
  onDeviceOrPrimary,
  textOf,
} from './values/distributed-values.js';
export { isDType } from './values/dtype.js';
export { decodeNumber, encodeNumber } from './values/element.js';
export { foreignTensorIn } from './values/foreign-tensor.js';
export { hasLength } from './values/has-length.js';
export { hashOf, layoutOf, shapeLayoutOf } from './values/layout.js';
export { flatten, isMapping, mapStructure, packLike, zipStructures } from './values/structure.js';
export { isTensorLike } from './values/tensor.js';
export { requireTensorLists, requireTensors } from './values/tensor-lists.js';

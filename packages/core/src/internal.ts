/** For the packages of this repository, of the same version. It may change in any release. */
export { partOf, resolveCallOptions, resolveWithoutInto, runOptionsOf } from './call-options.js';
export { bufferLengths, hasOneResult, inputBlocks, outputBlocks } from './collective.js';
export { ControllerGroup, requireCollError } from './controller-group.js';
export { requireDistinct } from './destinations.js';
export {
  componentOf,
  containerOf,
  containerSymbol,
  distributedValuesSymbol,
  onDeviceOrPrimary,
  textOf,
} from './distributed-values.js';
export { isDType } from './dtype.js';
export { decodeNumber, encodeNumber } from './element.js';
export { failureError, reasonOf } from './failures.js';
export { RankNames } from './hierarchical/rank-names.js';
export { rankOfWorker } from './hierarchical/rank-of-worker.js';
export { type KnownOptions, knownOptions, requireKnownOptions } from './known-options.js';
export { hashOf, layoutOf } from './layout.js';
export { log, logDeprecated } from './logger.js';
export { communicatorFor, routeAlgorithm } from './members/algorithm-router.js';
export { LocalMembers } from './members/local-members.js';
export { type LocalGroup, Member, type MemberSetup } from './members/member.js';
export { type MessageId, PointToPoint, type Post, type Postbox } from './members/point-to-point.js';
export { refusedMessages } from './members/refused-messages.js';
export { groupOfRank } from './members/split.js';
export { messageOf } from './message-of.js';
export { optionsOf } from './options-of.js';
export { arrange, type Pack } from './packing/arrangement.js';
export { requireRegistry } from './plugins/registry.js';
export { requireGivenGroup, requireProcessGroup } from './process-group.js';
export { quote } from './quote.js';
export { allRanks, oneRank } from './ranks.js';
export { isArriving } from './replicas/arriving-values.js';
export { type Batch, perReplica, type ValueLists } from './replicas/batch.js';
export { findCurrentReplica } from './replicas/current-replica.js';
export { type ErrorFor, type Joining, Rendezvous } from './replicas/rendezvous.js';
export { requireDense } from './replicas/replica-call.js';
export { type GroupCall, ReplicaGroup } from './replicas/replica-group.js';
export { requireFunction, requireList, requireTensorLists, requireTensors } from './requirements.js';
export { requireRunOptions, requireTimeout } from './run-options.js';
export { ControllerCommunicator } from './runtime/controller-communicator.js';
export { drive, stepOf, type Work } from './runtime/drive.js';
export { requireSignal } from './signal.js';
export { combineMixed } from './sparse/aggregate-slices.js';
export { asValue } from './sparse/sparse.js';
export { flatten, isMapping, mapStructure, packLike, zipStructures } from './structure.js';
export { isTensorLike } from './tensor.js';
export { ReferenceCommunicator, type ReferenceCommunicatorOptions } from './testing/reference-communicator.js';
export { Arena } from './threads/arena.js';
export { attended } from './threads/attended.js';
export {
  askedBy,
  bytesOfDescriptors,
  type Descriptor,
  Descriptors,
  nowhere,
  scheduleNumber,
} from './threads/descriptors.js';
export { nextTurn } from './threads/event-loop.js';
export { deadlineOf, SharedBarrier, type Wait, waitOf } from './threads/shared-barrier.js';
export { ThreadCommunicator } from './threads/thread-communicator.js';
export { failThreadGroup, requireJoin } from './threads/thread-group.js';
export { type ThreadEngine, ThreadRank } from './threads/thread-rank.js';
export { afterSeconds, longestTimer } from './timer.js';

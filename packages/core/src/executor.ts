/** For authors of executors and engines: what those of this package are made of. */
export { refusedCollective, validateBuffers } from './buffers.js';
export { abortedError, busyError, clashError, closedError, lostBufferError, refusedError } from './call-errors.js';
export { CallOrder, type Turn } from './call-order.js';
export { operationOf } from './caller-request.js';
export { bufferLengths, collectiveOps, hasOneResult, inputBlocks, outputBlocks, reads, writes } from './collective.js';
export { ControllerGroup, requireCollError } from './controller-group.js';
export { failureError, reasonOf } from './failures.js';
export { RankNames } from './hierarchical/rank-names.js';
export { requireGoing } from './in-one-hand.js';
export { hashOf, layoutOf } from './layout.js';
export { OneByOne } from './one-by-one.js';
export { arrange, type Pack, type Piece } from './packing/arrangement.js';
export { JoiningCommunicator } from './packing/joining-communicator.js';
export { allRanks, oneRank } from './ranks.js';
export { drive, driveSync, stepOf, type Work } from './runtime/drive.js';
export { chainsOf } from './schedule/chains.js';
export { Planner } from './schedule/planner.js';
export { type Step, stepsOf } from './schedule/steps.js';
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
export { type KnownCall, lostRank } from './threads/known-calls.js';
export { OrderedCommunicator } from './threads/ordered-communicator.js';
export { type CheckedCall, listOf, type Pieces } from './threads/pieces.js';
export { deadlineOf, SharedBarrier, type Wait, waitOf } from './threads/shared-barrier.js';
export { requireJoin } from './threads/thread-group.js';
export { ThreadRank } from './threads/thread-rank.js';

/**
 * Schedules: what each rank sends and adds in each round. Builders and operators for authors of algorithms, the verifier, and costs.
 * @module
 */

export { arithmeticOf } from './arithmetic.js';
export { chainsOf } from './chains.js';
export { type ChunkRange, chunkRange, type Side } from './chunk-range.js';
export { onChunks, onRanks, pipelined, refine, scheduleOf, sequence, sideBySide, together } from './compose.js';
export { type Cost, type CostOptions, cost, representativeCost, type WorkerLinks } from './cost.js';
export { draw } from './draw.js';
export { blockCount, endsOf, type Goal, goalOf, hasBlocks, ownerOf } from './goal.js';
export { linear, type Move, streamedLinear } from './linear.js';
export type { Link } from './links.js';
export type { LinkTimes } from './ports.js';
export type { Algorithm, RepresentativeSchedule, Round, Schedule, StreamedSchedule, Transfer } from './schedule.js';
export { problemOf, verify } from './verify.js';

export { chainsOf } from './chains.js';
export { type ChunkRange, chunkRange } from './chunk-range.js';
export { onChunks, onRanks, refine, scheduleOf, sequence, sideBySide, together } from './compose.js';
export { type Cost, type CostOptions, cost, type Link } from './cost.js';
export { draw } from './draw.js';
export { type Goal, goalOf, hasBlocks, ownerOf } from './goal.js';
export type { Algorithm, Round, Schedule, Transfer } from './schedule.js';
export { problemOf, verify } from './verify.js';

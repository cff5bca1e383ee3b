/** For authors of executors and engines: what those of this package are made of. */
export { refusedCollective } from './buffers.js';
export { collectiveOps } from './collective.js';
export { hashOf } from './layout.js';
export { chainsOf } from './schedule/chains.js';
export { Planner } from './schedule/planner.js';
export { type Step, stepsOf } from './schedule/steps.js';
export { Arena } from './threads/arena.js';
export { bytesOfDescriptors, type Descriptor, Descriptors, nowhere, scheduleNumber } from './threads/descriptors.js';
export { type KnownCall, KnownCalls, lostRank } from './threads/known-calls.js';
export { beginsOf, type Pieces, reads, sourceOf, validatePieces, writes } from './threads/pieces.js';
export { Rendezvous, type Wait } from './threads/rendezvous.js';

export { acrossWorkers, type WorkersOptions } from './across-workers.js';
export type { AlgorithmChoice, PricedCandidate } from './algorithm-choices.js';
export { autoAlgorithm, choicesOf, connectGroup } from './auto-communicator.js';
export { binaryTreeAlgorithm } from './binary-tree-algorithm.js';
export { CollectiveAllReduce, type CollectiveExplanation } from './collective-all-reduce.js';
export type { CollectiveAllReduceOptions } from './collective-options.js';
export { type HierarchicalAlgorithmOptions, hierarchicalAlgorithm } from './hierarchical-algorithm.js';
export { MultiWorkerAllReduce, type MultiWorkerAllReduceOptions } from './multi-worker-all-reduce.js';
export { type CollectiveOptions, collective, type MultiWorkerOptions, multiWorker } from './plugin.js';
export { recursiveHalvingDoublingAlgorithm } from './recursive-halving-doubling-algorithm.js';
export { type ShuffleAlgorithmOptions, shuffleAlgorithm } from './shuffle-algorithm.js';
export type { Workers } from './workers.js';

// Names of TensorFlow 1: specifications of MultiWorkerAllReduce, and what builds all-reduces from them.

export {
  type AllReduceAlg,
  type AllReduceSpec,
  type AllReduceSpecEntry,
  type AllReduceSpecLike,
  parseSpec,
} from './compat/all-reduce-spec.js';
export {
  buildNcclAllReduce,
  buildNcclThenRecursiveHd,
  buildNcclThenRing,
  buildNcclThenShuffle,
  buildRecursiveHdAllReduce,
  buildRingAllReduce,
  buildShuffleAllReduce,
  buildShuffleThenRing,
  buildShuffleThenShuffle,
  type UnaryOp,
} from './compat/build-all-reduce.js';
export { CollectiveKeys } from './compat/collective-keys.js';
export { formatSpec } from './compat/format-spec.js';
export { groupDeviceNames } from './compat/group-device-names.js';
export { specAlgorithm } from './compat/spec-algorithm.js';
export type { SpecChoice } from './compat/spec-fit.js';
export type { LimitUnit } from './compat/spec-plan.js';
export { type SplitGrads, splitGradsBySize } from './compat/split-grads-by-size.js';

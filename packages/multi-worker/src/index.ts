export type { AlgorithmChoice, PricedCandidate } from './algorithm-choices.js';
export {
  type AllReduceAlg,
  type AllReduceSpec,
  type AllReduceSpecEntry,
  type AllReduceSpecLike,
  parseSpec,
} from './all-reduce-spec.js';
export { autoAlgorithm, choicesOf, connectGroup } from './auto-communicator.js';
export { binaryTreeAlgorithm } from './binary-tree-algorithm.js';
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
} from './build-all-reduce.js';
export { CollectiveAllReduce, type CollectiveExplanation } from './collective-all-reduce.js';
export { CollectiveKeys } from './collective-keys.js';
export type { CollectiveAllReduceOptions } from './collective-options.js';
export { formatSpec } from './format-spec.js';
export { groupDeviceNames } from './group-device-names.js';
export { type HierarchicalAlgorithmOptions, hierarchicalAlgorithm } from './hierarchical-algorithm.js';
export { MultiWorkerAllReduce, type MultiWorkerAllReduceOptions } from './multi-worker-all-reduce.js';
export { type CollectiveOptions, collective, type MultiWorkerOptions, multiWorker } from './plugin.js';
export { recursiveHalvingDoublingAlgorithm } from './recursive-halving-doubling-algorithm.js';
export { type ShuffleAlgorithmOptions, shuffleAlgorithm } from './shuffle-algorithm.js';
export { specAlgorithm } from './spec-algorithm.js';
export type { SpecChoice } from './spec-fit.js';
export type { LimitUnit } from './spec-plan.js';
export { type SplitGrads, splitGradsBySize } from './split-grads-by-size.js';
export type { Workers } from './workers.js';

export { ring } from './plugin.js';
export {
  type RingAlgorithmOptions,
  type RingPermutations,
  ringAlgorithm,
  ringPermutations,
} from './ring-algorithm.js';
export { RingAllReduce, type RingOptions } from './ring-all-reduce.js';

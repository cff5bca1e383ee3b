export { ring } from './plugin.js';
export {
  type RingAlgorithmOptions,
  ringAlgorithm,
} from './ring-algorithm.js';
export { RingAllReduce, type RingOptions } from './ring-all-reduce.js';

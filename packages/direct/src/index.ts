export { directAlgorithm } from './direct-algorithm.js';
export { DirectAllReduce, type DirectOptions } from './direct-all-reduce.js';
export { direct } from './plugin.js';

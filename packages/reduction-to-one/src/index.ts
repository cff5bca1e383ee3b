export { reductionToOne } from './plugin.js';
export { type ReductionToOneAlgorithmOptions, reductionToOneAlgorithm } from './reduction-to-one-algorithm.js';
export { ReductionToOneDevice, type ReductionToOneOptions } from './reduction-to-one-device.js';

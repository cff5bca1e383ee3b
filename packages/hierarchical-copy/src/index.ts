export {
  AllReduceCrossDeviceOps,
  type AllReduceCrossDeviceOpsOptions,
  AllReduceCrossTowerOps,
} from './all-reduce-cross-device-ops.js';
export { hierarchicalCopyAlgorithm } from './hierarchical-copy-algorithm.js';
export { HierarchicalCopyAllReduce, type HierarchicalCopyOptions } from './hierarchical-copy-all-reduce.js';
export { hierarchicalCopy } from './plugin.js';

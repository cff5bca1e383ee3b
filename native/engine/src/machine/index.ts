/**
 * What the machine offers to this process: cores, quota, NUMA nodes, caches and limits of the
 * system, and the options of Node.js that suit its cores. Needs no addon.
 */
export { collectorFlags } from './collector.js';
export { coresIn, isCoreList, mostCores } from './core-list.js';
export { availableCores, type Cores, type CoresOptions, findCores } from './cores.js';
export { type CpuTime, cpuTime, foreignPart } from './cpu-time.js';
export { helperThreads } from './helper-threads.js';
export { findHostLimits, type HostLimits } from './host-limits.js';
export {
  describeCaches,
  describeCores,
  describeMachine,
  describeNodes,
  describeQuota,
  findMachine,
  type Machine,
} from './machine.js';
export type { Cache, NumaNode, Topology } from './topology.js';

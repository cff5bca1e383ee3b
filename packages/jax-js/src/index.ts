export type { GradientOptions } from '@coll/strategy';
export { type Batches, type BatchesOptions, type BatchOf, batches } from './batches.js';
export {
  allGather,
  axisIndex,
  axisSize,
  broadcast,
  pmax,
  pmean,
  pmin,
  psum,
} from './collectives.js';
export { type DataParallelOptions, dataParallel } from './data-parallel.js';
export type { OnDifference } from './step-guard.js';

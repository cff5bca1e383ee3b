export {
  experimentalSetStrategy,
  getReplicaContext,
  getStrategy,
  hasStrategy,
  inCrossReplicaContext,
} from './current-strategy.js';
export { StrategyExtended } from './extended.js';
export { MirroredStrategy, type MirroredStrategyOptions, type StrategyExplanation } from './mirrored-strategy.js';
export type { MergeFunction, ReplicaContext } from './replica-context.js';
export { type ReplicaFunction, type RunOptions, Strategy, type ValueContext } from './strategy.js';

export type { GradientOptions } from '@coll/strategy';
export { averageStatistics } from './average-statistics.js';
export { broadcastWeights } from './broadcast-weights.js';
export {
  type DistributedCallbacks,
  type DistributedCallbacksOptions,
  distributedCallbacks,
} from './distributed-callbacks.js';
export { type DistributedOptimizerOptions, distributedOptimizer } from './distributed-optimizer.js';
export { type ReduceGradientsOptions, reduceGradients, reduceGradientsSync } from './reduce-gradients.js';
export { type ShareOptions, shareOf } from './share-of.js';
export type {
  TensorFlow,
  TfGradient,
  TfGradients,
  TfIOHandler,
  TfLayersModel,
  TfModel,
  TfModelArtifacts,
  TfOptimizer,
  TfSaveResult,
  TfTensor,
  TfVariable,
  TfWeightSpec,
} from './tensorflow.js';
export type { TfCallback, TfCallbackClasses, TfLogs, TfYieldEvery } from './tf-callbacks.js';
export { type Progress, type TrainingState, type TrainingStateOptions, trainingState } from './training-state.js';
export { rowsOf } from './uneven-shares.js';

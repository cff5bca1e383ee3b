export { broadcastWeights } from './broadcast-weights.js';
export { distributedOptimizer } from './distributed-optimizer.js';
export type { GradientOptions } from './exchange.js';
export { type ReduceGradientsOptions, reduceGradients, reduceGradientsSync } from './reduce-gradients.js';
export type { TensorFlow, TfGradient, TfGradients, TfModel, TfOptimizer, TfTensor, TfVariable } from './tensorflow.js';

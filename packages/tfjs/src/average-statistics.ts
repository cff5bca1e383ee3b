import { type Tensor, tensor } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import {
  type Exchange,
  exchangeSync,
  hashOfBits,
  type ReplicaInfo,
  requireContext,
  whichAreEqual,
} from '@coll/strategy/internal';
import { requireModel } from './broadcast-weights.js';
import { watchPlainOptimizers } from './plain-optimizers.js';
import { requireSameVariables } from './same-variables.js';
import { elementsNow } from './tensor-memory.js';
import { elementsOf, requireTensorFlow, type TensorFlow, type TfModel, type TfVariable } from './tensorflow.js';

/**
 * Sets the moving statistics of a model, such as those of batch normalisation, to their mean over
 * all replicas. Each replica computes them from its own part of the data, so they differ. Call this
 * function on all replicas before evaluation and before saving. More exactly, it averages the
 * float32 weights that are not trained and differ between replicas; equal weights, such as those of
 * frozen layers, keep their bits.
 * @throws InvalidArgumentError, the same on all replicas, if their models differ; ValueError unless
 * the arguments are TensorFlow.js, a model, and the context of a replica
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { averageStatistics } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.batchNormalization({ inputShape: [2] })] });
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run((replica) => averageStatistics(tf, model, replica));
 * console.log(model.getWeights()[2]?.dataSync()); // Float32Array(2) [ 0, 0 ]
 * ```
 */
export function averageStatistics(
  tf: TensorFlow,
  model: TfModel,
  context: ReplicaInfo & Pick<ReplicaContext, 'allReduceSync'>,
): void {
  const operation = 'averageStatistics';
  requireTensorFlow(tf, operation);
  requireModel(model, `${operation}: model`);
  requireContext(context, 'allReduceSync', operation);
  if (context.numReplicasInSync === 1) return;
  watchPlainOptimizers(tf);
  const weights = model.weights.map((weight) => weight.read() as TfVariable);
  const fixed = weights.filter(({ trainable, dtype }) => !trainable && dtype === 'float32');
  const different = exchangeSync(differentOf(tf, weights, fixed, context), context);
  for (const variable of different) {
    const { shape } = variable;
    const own = Float64Array.from(elementsNow(tf, variable) as Float32Array);
    const { data } = context.allReduceSync('mean', tensor(own)) as Tensor;
    const mean = tf.tensor(Float32Array.from(data as Float64Array), shape, 'float32');
    variable.assign(mean);
    mean.dispose();
  }
}

/** Those of the weights `fixed` that are not equal on all replicas. */
function* differentOf(
  tf: TensorFlow,
  weights: readonly TfVariable[],
  fixed: readonly TfVariable[],
  info: ReplicaInfo,
): Exchange<readonly TfVariable[]> {
  yield* requireSameVariables(weights, info);
  if (fixed.length === 0) return [];
  const areEqual = yield* whichAreEqual(
    fixed.map((variable) => hashOfBits(elementsOf(elementsNow(tf, variable), 'float32') as Float32Array)),
  );
  return fixed.filter((_, index) => !areEqual[index]);
}

import { type Tensor, tensor, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import { exchangeSync, type ReplicaInfo, requireContext } from '@coll/strategy/internal';
import { watchPlainOptimizers } from './plain-optimizers.js';
import { requireSameVariables } from './same-variables.js';
import { elementsNow } from './tensor-memory.js';
import {
  type CarriedDType,
  elementsOf,
  requireTensorFlow,
  requireVariables,
  type TensorFlow,
  type TfModel,
  type TfVariable,
} from './tensorflow.js';

type Broadcaster = ReplicaInfo & Pick<ReplicaContext, 'allReduceSync' | 'broadcastSync'>;

/**
 * Copies the weights of replica `root`, including non-trainable ones, to every replica. Use it for
 * models that each replica has loaded or initialized at random, and for statistics such as those of
 * batch normalisation, which each replica computes from its own share of the data.
 * @throws InvalidArgumentError, the same on all replicas, if their models differ; ValueError unless
 * the arguments are TensorFlow.js, a model or a list of variables, and the context of a replica;
 * NotImplementedError on the webgpu backend
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { broadcastWeights } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run((replica) => broadcastWeights(tf, model, replica));
 * console.log(model.getWeights().map(({ shape }) => shape)); // [ [ 2, 1 ], [ 1 ] ]
 * ```
 */
export function broadcastWeights(
  tf: TensorFlow,
  weights: TfModel | readonly TfVariable[],
  context: Broadcaster,
  root = 0,
): void {
  const operation = 'broadcastWeights';
  requireTensorFlow(tf, operation);
  requireContext(context, 'broadcastSync', operation);
  const variables = variablesOf(weights, operation);
  if (context.numReplicasInSync === 1) return;
  watchPlainOptimizers(tf);
  exchangeSync(requireSameVariables(variables, context), context);
  broadcastVariables(tf, variables, context, { root });
}

function variablesOf(weights: TfModel | readonly TfVariable[], operation: string): readonly TfVariable[] {
  const variables = isModel(weights) ? weights.weights.map((weight) => weight.read() as TfVariable) : weights;
  requireVariables(variables, operation);
  return variables;
}

function isModel(value: unknown): value is TfModel {
  const { weights } = Object(value) as Partial<TfModel>;
  return Array.isArray(weights) && weights.every((weight) => typeof Object(weight).read === 'function');
}

/** @throws ValueError unless `model` lists its weights, as a Layers model does */
export function requireModel(model: unknown, name: string): asserts model is TfModel {
  if (isModel(model)) return;
  throw new ValueError('ERR_COLL_VALUE', `${name} must be a Layers model of TensorFlow.js, got ${quote(model)}`);
}

/** Like `broadcastWeights`, but does not check that all replicas have the same variables. */
export function broadcastVariables(
  tf: TensorFlow,
  variables: readonly TfVariable[],
  context: Broadcaster,
  { root, timeoutSeconds }: { readonly root: number; readonly timeoutSeconds?: number | undefined },
): void {
  for (const variable of variables) {
    const { dtype, shape } = variable as { dtype: CarriedDType; shape: number[] };
    const own = tensor(elementsOf(elementsNow(tf, variable), dtype), { dtype, shape });
    const { data } = context.broadcastSync(own, root, { timeoutSeconds }) as Tensor;
    if (context.replicaIdInSyncGroup === root) continue;
    // Does not write to the variable's memory, which it may share with the tensor that it was
    // created from, or with another variable.
    const received = tf.tensor(data as Float32Array, shape, dtype);
    variable.assign(received);
    received.dispose();
  }
}

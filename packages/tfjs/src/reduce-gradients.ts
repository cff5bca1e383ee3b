import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { type AsyncReducer, exchange, exchangeSync, type GradientOptions, type SyncReducer } from './exchange.js';
import { gradientList, tensorsOf } from './gradient-list.js';
import { GradientMean } from './gradient-mean.js';
import { type GradientMemory, lastingMemoryOf, memoryOf } from './gradient-memory.js';
import { type Place, requireContext } from './same-variables.js';
import {
  requireTensorFlow,
  requireVariables,
  type TensorFlow,
  type TfGradient,
  type TfTensor,
  type TfVariable,
} from './tensorflow.js';

/** How gradients are averaged, and the variables that may have gradients. */
export interface ReduceGradientsOptions extends GradientOptions {
  /**
   * All variables that may have a gradient, in the same order on all replicas. Default: all
   * trainable variables of `tf`.
   */
  readonly variables?: readonly TfVariable[];
}

const reduceGradientsOptions = knownOptions<ReduceGradientsOptions>('reduceGradients', {
  bytesPerPack: true,
  timeoutSeconds: true,
  onAllReduce: true,
  variables: true,
});

type NamedGradients<T> = Readonly<Record<string, T>>;

// State on which the replicas have agreed, kept as long as their context.
const means = new WeakMap<Place, GradientMean>();

/**
 * The means over all replicas of the gradients that `tf.variableGrads` returns, under the same
 * names. A missing gradient counts as zeros if another replica has one. Takes ownership of the
 * tensors passed in: each is either disposed or reused for the result, which the caller disposes.
 * Variables do not change; call `broadcastWeights` before the first step to make them equal.
 * @throws InvalidArgumentError, the same on all replicas, if their variables differ; ValueError for
 * arguments of a wrong type
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { reduceGradients } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const weight = tf.scalar(3).variable();
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run(async (replica) => {
 *   const { grads } = tf.variableGrads(() => weight.square().asScalar(), [weight]);
 *   const means = await reduceGradients(tf, grads, replica);
 *   tf.train.sgd(0.5).applyGradients(means);
 * });
 * console.log(weight.dataSync()); // Float32Array(1) [ 0 ]
 * ```
 */
export async function reduceGradients<T extends TfTensor>(
  tf: TensorFlow,
  gradients: NamedGradients<T>,
  context: Place & AsyncReducer,
  options?: ReduceGradientsOptions,
): Promise<Record<string, T>> {
  const { variables: candidates, ...exchangeOptions } = checkedOptions({
    tf,
    gradients,
    context,
    options,
    method: 'allReduce',
  });
  if (context.numReplicasInSync === 1) return { ...gradients };
  const { variables, gradients: own } = gradientList(tf, gradients, candidates && [...candidates]);
  const mean = meanOf(context);
  await exchange(mean.compare(variables), context, { timeoutSeconds: exchangeOptions.timeoutSeconds });
  const memory = await lastingMemoryOf(variables, own);
  return takeOver(tf, variables, own, await exchange(mean.average(variables, memory), context, exchangeOptions));
}

/**
 * Like `reduceGradients`, but blocks the thread. On the cpu and WASM backends, gradients are not
 * copied.
 * @throws the errors of `reduceGradients`
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { reduceGradientsSync } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const weight = tf.scalar(3).variable();
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run((replica) => {
 *   const { grads } = tf.variableGrads(() => weight.square().asScalar(), [weight]);
 *   tf.train.sgd(0.5).applyGradients(reduceGradientsSync(tf, grads, replica));
 * });
 * console.log(weight.dataSync()); // Float32Array(1) [ 0 ]
 * ```
 */
export function reduceGradientsSync<T extends TfTensor>(
  tf: TensorFlow,
  gradients: NamedGradients<T>,
  context: Place & SyncReducer,
  options?: ReduceGradientsOptions,
): Record<string, T> {
  const { variables: candidates, ...exchangeOptions } = checkedOptions({
    tf,
    gradients,
    context,
    options,
    method: 'allReduceSync',
  });
  if (context.numReplicasInSync === 1) return { ...gradients };
  const { variables, gradients: own } = gradientList(tf, gradients, candidates && [...candidates]);
  const mean = meanOf(context);
  exchangeSync(mean.compare(variables), context, { timeoutSeconds: exchangeOptions.timeoutSeconds });
  const memory = memoryOf(tf, variables, own);
  return takeOver(tf, variables, own, exchangeSync(mean.average(variables, memory), context, exchangeOptions));
}

interface Call {
  readonly tf: unknown;
  readonly gradients: unknown;
  readonly context: unknown;
  readonly options: ReduceGradientsOptions | undefined;
  readonly method: 'allReduce' | 'allReduceSync';
}

/**
 * Checks the arguments of a call, and returns its options.
 * @throws ValueError for an invalid argument
 */
function checkedOptions({ tf, gradients, context, options, method }: Call): Partial<ReduceGradientsOptions> {
  const operation = method === 'allReduce' ? 'reduceGradients' : 'reduceGradientsSync';
  requireTensorFlow(tf, operation);
  requireContext(context, method, operation);
  if (typeof gradients !== 'object' || gradients === null) {
    const told = `gradients must be the result of tf.variableGrads, got ${quote(gradients)}`;
    throw new ValueError('ERR_COLL_VALUE', `${operation}: ${told}`);
  }
  const given = optionsOf(options, '{ timeoutSeconds: 60 }', reduceGradientsOptions);
  if (given.variables !== undefined) requireVariables(given.variables, operation);
  return given;
}

function meanOf(context: Place): GradientMean {
  const known = means.get(context) ?? new GradientMean(context);
  means.set(context, known);
  return known;
}

function takeOver<T extends TfTensor>(
  tf: TensorFlow,
  variables: readonly TfVariable[],
  own: readonly TfGradient[],
  averaged: readonly (GradientMemory | undefined)[],
): Record<string, T> {
  const tensors = tensorsOf(tf, variables, averaged);
  own.forEach((gradient, index) => {
    if (gradient && gradient !== tensors[index]) gradient.dispose();
  });
  const named = variables
    .map(({ name }, index) => [name, tensors[index]] as const)
    .filter(([, tensor]) => tensor !== undefined);
  return Object.fromEntries(named) as Record<string, T>;
}

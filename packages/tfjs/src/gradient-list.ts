import type { GradientMemory } from './gradient-memory.js';
import {
  type TensorFlow,
  type TfGradient,
  type TfGradients,
  type TfTensor,
  type TfVariable,
  trainableVariables,
  variableNamed,
} from './tensorflow.js';

/** Gradients by the position of their variable, in an order that all replicas have. */
export interface GradientList {
  readonly variables: readonly TfVariable[];
  readonly gradients: readonly TfGradient[];
}

/**
 * A list keeps its order. A map has keys only for what the loss touched, so it is filled up with `candidates`, by default
 * all trainable variables.
 */
export function gradientList(
  tf: TensorFlow,
  gradients: TfGradients,
  candidates = trainableVariables(tf),
): GradientList {
  if (isList(gradients)) {
    return {
      variables: gradients.map(({ name }) => variableNamed(tf, name)),
      gradients: gradients.map(({ tensor }) => tensor),
    };
  }
  const variables = [...new Set([...candidates, ...Object.keys(gradients).map((name) => variableNamed(tf, name))])];
  return { variables, gradients: variables.map(({ name }) => gradients[name]) };
}

export function isList(gradients: TfGradients): gradients is Extract<TfGradients, readonly unknown[]> {
  return Array.isArray(gradients);
}

/** Means as tensors: the gradients themselves where they were written in place, new ones elsewhere. */
export function tensorsOf(
  tf: TensorFlow,
  variables: readonly TfVariable[],
  means: readonly (GradientMemory | undefined)[],
): (TfTensor | undefined)[] {
  return means.map((mean, index) => {
    if (!mean) return undefined;
    return mean.tensor ?? tf.tensor(mean.output, (variables[index] as TfVariable).shape, 'float32');
  });
}

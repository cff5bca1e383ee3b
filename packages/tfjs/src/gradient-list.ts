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

/** Variables in an order that is equal on all replicas, and the gradient of each. */
export interface GradientList {
  readonly variables: readonly TfVariable[];
  readonly gradients: readonly TfGradient[];
}

/**
 * Converts gradients to a list of variables and their gradients. A list keeps its order. A map
 * lacks the variables that the loss does not depend on; these variables are added from `candidates`
 * (default: all trainable variables) without a gradient.
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

/**
 * Returns the mean of each variable's gradient as a tensor: the gradient itself if the mean was
 * written in place, otherwise a new tensor; undefined if the variable has no mean.
 */
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

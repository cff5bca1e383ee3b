import type { GradientMemory } from './gradient-memory.js';
import { type TensorFlow, type TfGradients, type TfTensor, type TfVariable, variableNamed } from './tensorflow.js';

/** The gradients by their variable, without missing ones. @throws ValueError for an unknown name */
export function gradientsByVariable<Gradient extends TfTensor>(
  tf: TensorFlow,
  gradients: Readonly<Record<string, Gradient | null | undefined>>,
): Map<TfVariable, Gradient> {
  const found = new Map<TfVariable, Gradient>();
  for (const [name, gradient] of Object.entries(gradients)) {
    if (gradient) found.set(variableNamed(tf, name), gradient);
  }
  return found;
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

import * as tf from '@tensorflow/tfjs';

/** Points of the plane, and whether each is inside the unit circle. */
export function points(): { readonly xs: tf.Tensor2D; readonly ys: tf.Tensor2D } {
  const xs = tf.randomUniform<tf.Rank.R2>([1024, 2], -1.5, 1.5, 'float32', 1);
  const ys = xs.square().sum(1, true).less(1).toFloat() as tf.Tensor2D;
  return { xs, ys };
}

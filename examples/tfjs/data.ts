import * as tf from '@tensorflow/tfjs';

/** Points of the plane, one per row, and 1 for each point that is inside the unit circle, otherwise 0. */
export interface Points {
  readonly xs: tf.Tensor2D;
  readonly ys: tf.Tensor2D;
}

/** Points for training, and others for the test. Because of the seed, each call returns the same. */
export function points(): { readonly train: Points; readonly test: Points } {
  const xs = tf.randomUniform<tf.Rank.R2>([1279, 2], -1.5, 1.5, 'float32', 7);
  const ys = xs.square().sum(1, true).less(1).toFloat() as tf.Tensor2D;
  return { train: slice({ xs, ys }, 0, 1023), test: slice({ xs, ys }, 1023, 256) };
}

/** `size` points from `begin` on. */
function slice({ xs, ys }: Points, begin: number, size: number): Points {
  return { xs: xs.slice(begin, size), ys: ys.slice(begin, size) };
}

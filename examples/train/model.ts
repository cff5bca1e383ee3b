import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { type Digits, pixels } from './digits.ts';

/** Units of the hidden layers: about a million parameters together. */
const hidden = [832, 416];

/** Selects the WASM backend of tfjs, without the welcome message. */
export async function useWasm(): Promise<void> {
  tf.enableProdMode();
  await tf.setBackend('wasm');
}

/** A multi-layer perceptron that reads digits. */
export function buildModel(seed: number): tf.Sequential {
  const dense = (units: number, activation: 'relu' | 'softmax', index: number) =>
    tf.layers.dense({
      units,
      activation,
      kernelInitializer: tf.initializers.glorotUniform({ seed: seed + index }),
      ...(index === 0 ? { inputShape: [pixels] } : {}),
    });
  const layers = hidden.map((units, index) => dense(units, 'relu', index));
  return tf.sequential({ layers: [...layers, dense(10, 'softmax', hidden.length)] });
}

export function tensorsOf({ images, labels, count }: Digits): { x: tf.Tensor2D; y: tf.Tensor2D } {
  const y = tf.tidy(() => tf.oneHot(tf.tensor1d(labels, 'int32'), 10).toFloat()) as tf.Tensor2D;
  return { x: tf.tensor2d(images, [count, pixels]), y };
}

/** The number of digits that the model classifies correctly. */
export function countCorrect(model: tf.Sequential, { images, labels, count }: Digits): number {
  const read = tf.tidy(() => (model.predict(tf.tensor2d(images, [count, pixels])) as tf.Tensor).argMax(1).dataSync());
  return read.filter((label, index) => label === labels[index]).length;
}

/** All weights, one after the other. */
export function flatWeights(model: tf.Sequential): Float32Array {
  return tf.tidy(() => tf.concat(model.getWeights().map((weight) => weight.flatten())).dataSync() as Float32Array);
}

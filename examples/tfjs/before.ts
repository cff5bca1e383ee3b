// An ordinary TensorFlow.js script, which trains on one core.
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { points } from './data.ts';

await tf.setBackend('wasm');
const { train, test } = points();
const model = tf.sequential({
  layers: [
    tf.layers.dense({ units: 16, activation: 'relu', inputShape: [2] }),
    tf.layers.dense({ units: 1, activation: 'sigmoid' }),
  ],
});
model.compile({ optimizer: tf.train.adam(0.02), loss: 'binaryCrossentropy', metrics: ['accuracy'] });
const print = {
  onEpochEnd: (epoch: number, logs?: tf.Logs) =>
    console.log(`epoch ${epoch + 1}: loss ${logs?.['loss']?.toFixed(3)}, accuracy ${logs?.['val_acc']?.toFixed(2)}`),
};
await model.fit(train.xs, train.ys, {
  epochs: 10,
  batchSize: 64,
  validationData: [test.xs, test.ys],
  callbacks: print,
});

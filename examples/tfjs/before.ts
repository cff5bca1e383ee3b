// An ordinary TensorFlow.js script, which trains on one core.
import * as tf from '@tensorflow/tfjs';
import { points } from './data.ts';

tf.enableProdMode();
await tf.setBackend('cpu');
const { train, test } = points();
const model = tf.sequential({
  layers: [
    tf.layers.dense({ units: 16, activation: 'relu', inputShape: [2] }),
    tf.layers.dense({ units: 1, activation: 'sigmoid' }),
  ],
});
model.compile({ optimizer: tf.train.adam(0.02), loss: 'binaryCrossentropy', metrics: ['accuracy'] });
await model.fit(train.xs, train.ys, { epochs: 10, batchSize: 64, verbose: 0 });
const [, accuracy] = model.evaluate(test.xs, test.ys) as tf.Scalar[];
console.log(`accuracy ${accuracy?.dataSync()[0]?.toFixed(2)}`);

import type { ReplicaContext } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { type Digits, pixels } from './digits.ts';
import { type Course, type Model, momentum, rate, units } from './framework.ts';

/** Builds the model in TensorFlow.js on its WASM backend, without the welcome message. */
export async function buildModel({ seed, epochs, batchSize }: Course, context: ReplicaContext): Promise<Model> {
  tf.enableProdMode();
  await tf.setBackend('wasm');
  const model = layersOf(seed);
  const optimizer = distributedOptimizer(tf, tf.train.momentum(rate, momentum), context);
  model.compile({ optimizer, loss: 'categoricalCrossentropy' });
  return {
    async train(digits, onStep) {
      const { x, y } = tensorsOf(digits);
      const report = { onBatchEnd: (_batch: number, logs?: tf.Logs) => onStep(logs?.['loss'] as number) };
      const callbacks = distributedCallbacks(tf, report, context, { batchLogs: 'mean' });
      const share = batchSize / context.numReplicasInSync;
      await model.fit(x, y, { epochs, batchSize: share, shuffle: false, verbose: 0, callbacks });
    },
    async countCorrect({ images, labels, count }) {
      const read = tf.tidy(() => {
        return (model.predict(tf.tensor2d(images, [count, pixels])) as tf.Tensor).argMax(1).dataSync();
      });
      return read.filter((label, index) => label === labels[index]).length;
    },
    async weights() {
      return tf.tidy(() => tf.concat(model.getWeights().map((weight) => weight.flatten())).dataSync() as Float32Array);
    },
  };
}

function layersOf(seed: number): tf.Sequential {
  const layers = units.slice(1).map((outputs, index) =>
    tf.layers.dense({
      units: outputs,
      activation: index < units.length - 2 ? 'relu' : 'softmax',
      kernelInitializer: tf.initializers.glorotUniform({ seed: seed + index }),
      ...(index === 0 ? { inputShape: [pixels] } : {}),
    }),
  );
  return tf.sequential({ layers });
}

function tensorsOf({ images, labels, count }: Digits): { x: tf.Tensor2D; y: tf.Tensor2D } {
  const y = tf.tidy(() => tf.oneHot(tf.tensor1d(labels, 'int32'), 10).toFloat()) as tf.Tensor2D;
  return { x: tf.tensor2d(images, [count, pixels]), y };
}

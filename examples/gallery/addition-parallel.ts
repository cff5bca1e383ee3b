// Learns to add: reads '12+7' one character at a time, and writes '19'.
import type { ReplicaContext } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer, shareOf } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';

const characters = '0123456789+ ';
const width = { question: 5, answer: 3 };

function encode(texts: readonly string[], length: number): tf.Tensor3D {
  const indices = texts.map((text) => [...text.padEnd(length)].map((character) => characters.indexOf(character)));
  return tf.oneHot(tf.tensor2d(indices, [texts.length, length], 'int32'), characters.length) as tf.Tensor3D;
}

function sums(first: number, count: number): [tf.Tensor3D, tf.Tensor3D] {
  // The steps visit all pairs of two numbers below 100 in a mixed order.
  const pairs = Array.from({ length: count }, (_, at) => ((first + at) * 3187) % 10_000).map(
    (n) => [Math.floor(n / 100), n % 100] as const,
  );
  return [
    encode(
      pairs.map(([a, b]) => `${a}+${b}`),
      width.question,
    ),
    encode(
      pairs.map(([a, b]) => `${a + b}`),
      width.answer,
    ),
  ];
}

export async function replica(context: ReplicaContext, epochs = 3): Promise<number[]> {
  await tf.setBackend('wasm');
  const [xs, ys] = shareOf(tf, sums(0, 1025), context);
  const seeded = (seed: number) => ({
    kernelInitializer: tf.initializers.glorotUniform({ seed }),
    recurrentInitializer: tf.initializers.glorotUniform({ seed: seed + 1 }),
  });
  const model = tf.sequential({
    layers: [
      tf.layers.lstm({ units: 48, inputShape: [width.question, characters.length], ...seeded(1) }),
      tf.layers.repeatVector({ n: width.answer }),
      tf.layers.lstm({ units: 48, returnSequences: true, ...seeded(3) }),
      tf.layers.timeDistributed({
        layer: tf.layers.dense({
          units: characters.length,
          activation: 'softmax',
          kernelInitializer: tf.initializers.glorotUniform({ seed: 5 }),
        }),
      }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.01), context);
  model.compile({ optimizer, loss: 'categoricalCrossentropy', metrics: ['accuracy'] });
  const print = {
    onEpochEnd: (epoch: number, logs?: tf.Logs) =>
      console.log(`epoch ${epoch + 1}: loss ${logs?.['loss']?.toFixed(3)}, right ${logs?.['val_acc']?.toFixed(3)}`),
  };
  const { history } = await model.fit(xs, ys, {
    epochs,
    batchSize: 128 / context.numReplicasInSync,
    shuffle: false,
    validationData: sums(5000, 200),
    callbacks: distributedCallbacks(tf, [], context, { onReplica0: print }),
  });
  return history['loss'] as number[];
}

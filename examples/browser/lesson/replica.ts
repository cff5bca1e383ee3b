// The module of each worker. The first import connects the worker to the page.
import '@coll/strategy/replica-thread';
import type { ReplicaContext } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer, shareOf } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';

const epochs = 10;

/** Trains a model to tell whether a point is inside a circle. Returns the seconds that the training took. */
export async function replica(context: ReplicaContext): Promise<number> {
  await tf.setBackend('cpu');
  const xs = tf.randomUniform<tf.Rank.R2>([1024, 2], -1.5, 1.5, 'float32', 7);
  const ys = xs.square().sum(1, true).less(1).toFloat();
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 256, activation: 'relu', inputShape: [2] }),
      tf.layers.dense({ units: 256, activation: 'relu' }),
      tf.layers.dense({ units: 1, activation: 'sigmoid' }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.01), context);
  model.compile({ optimizer, loss: 'binaryCrossentropy', metrics: ['accuracy'] });
  const onEpochEnd = (epoch: number, { loss, acc }: tf.Logs = {}) =>
    context.report(`epoch ${epoch + 1} of ${epochs}: loss ${loss?.toFixed(3)}, accuracy ${acc?.toFixed(2)}`);
  const own = shareOf(tf, { xs, ys }, context);
  const begun = performance.now();
  await model.fit(own.xs, own.ys, {
    epochs,
    batchSize: 512 / context.numReplicasInSync,
    callbacks: distributedCallbacks(tf, [], context, { onReplica0: { onEpochEnd } }),
  });
  return (performance.now() - begun) / 1000;
}

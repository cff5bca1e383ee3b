// The same script as a function, which each replica calls in its own thread.
import type { ReplicaContext } from '@coll/strategy';
import { distributedOptimizer, shareOf } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';
import { points } from './data.ts';

export async function replica(context: ReplicaContext): Promise<number> {
  tf.enableProdMode();
  await tf.setBackend('cpu');
  const { train, test } = points();
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 16, activation: 'relu', inputShape: [2] }),
      tf.layers.dense({ units: 1, activation: 'sigmoid' }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.02), context);
  model.compile({ optimizer, loss: 'binaryCrossentropy', metrics: ['accuracy'] });
  const { xs, ys } = shareOf(tf, train, context);
  await model.fit(xs, ys, { epochs: 10, batchSize: 64 / context.numReplicasInSync, verbose: 0 });
  const [, accuracy] = model.evaluate(test.xs, test.ys) as tf.Scalar[];
  return accuracy?.dataSync()[0] as number;
}

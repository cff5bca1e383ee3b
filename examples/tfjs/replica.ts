// The same script as a function, which each replica calls in its own thread.
import type { ReplicaContext } from '@coll/strategy';
import { distributedOptimizer } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';
import { points } from './data.ts';

export async function replica(context: ReplicaContext): Promise<number> {
  tf.enableProdMode();
  await tf.setBackend('cpu');
  const { numReplicasInSync: replicas, replicaIdInSyncGroup: id } = context;
  const [xs, ys] = Object.values(points()).map((all) => tf.split(all, replicas)[id] as tf.Tensor);
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 16, activation: 'relu', inputShape: [2] }),
      tf.layers.dense({ units: 1, activation: 'sigmoid' }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.02), context);
  model.compile({ optimizer, loss: 'binaryCrossentropy', metrics: ['accuracy'] });
  const { history } = await model.fit(xs as tf.Tensor, ys as tf.Tensor, {
    epochs: 10,
    batchSize: 64 / replicas,
    verbose: 0,
  });
  return Number(history['acc']?.at(-1));
}

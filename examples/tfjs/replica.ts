// The same script as a function, which each replica calls in its own thread.
import type { ReplicaContext } from '@coll/strategy';
import { distributedOptimizer } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';
import type { Points } from './data.ts';

export async function replica(context: ReplicaContext, train: Points, test: Points): Promise<number> {
  tf.enableProdMode();
  await tf.setBackend('cpu');
  const tensors = ({ xs, ys }: Points) => [tf.tensor2d(xs, [ys.length, 2]), tf.tensor2d(ys, [ys.length, 1])] as const;
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 16, activation: 'relu', inputShape: [2] }),
      tf.layers.dense({ units: 1, activation: 'sigmoid' }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.02), context);
  model.compile({ optimizer, loss: 'binaryCrossentropy', metrics: ['accuracy'] });
  await model.fit(...tensors(train), { epochs: 10, batchSize: 64 / context.numReplicasInSync, verbose: 0 });
  const [, accuracy] = model.evaluate(...tensors(test)) as tf.Scalar[];
  return accuracy?.dataSync()[0] as number;
}

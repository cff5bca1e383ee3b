// The same script as a function, which each replica calls in its own thread.
import type { ReplicaContext } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer, shareOf } from '@coll/tfjs';
import { checkpointHandler } from '@coll/tfjs/node';
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { points } from './data.ts';

export async function replica(context: ReplicaContext, folder: string): Promise<void> {
  await tf.setBackend('wasm');
  const { train, test } = points();
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 16, activation: 'relu', inputShape: [2] }),
      tf.layers.dense({ units: 1, activation: 'sigmoid' }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.02), context);
  model.compile({ optimizer, loss: 'binaryCrossentropy', metrics: ['accuracy'] });
  const print = {
    onEpochEnd: (epoch: number, logs?: tf.Logs) =>
      console.log(`epoch ${epoch + 1}: loss ${logs?.['loss']?.toFixed(3)}, accuracy ${logs?.['val_acc']?.toFixed(2)}`),
  };
  const { xs, ys } = shareOf(tf, train, context);
  await model.fit(xs, ys, {
    epochs: 10,
    batchSize: 64 / context.numReplicasInSync,
    validationData: [test.xs, test.ys],
    callbacks: distributedCallbacks(tf, [], context, { onReplica0: print }),
  });
  if (context.replicaIdInSyncGroup === 0) await model.save(checkpointHandler(folder));
}

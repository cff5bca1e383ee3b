import type { ReplicaContext } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer, shareOf, trainingState } from '@coll/tfjs';
import { checkpointCallback, restoreCheckpoint } from '@coll/tfjs/node';
import * as tf from '@tensorflow/tfjs';

/** Trains a model, from its newest checkpoint if there is one. Returns its weights. */
export async function replica(context: ReplicaContext, folder: string): Promise<Float32Array> {
  tf.enableProdMode();
  const { initializers, layers } = tf;
  const model = tf.sequential({
    layers: [
      layers.dense({ inputShape: [2], units: 16, kernelInitializer: initializers.glorotUniform({ seed: 1 }) }),
      layers.batchNormalization(),
      layers.dropout({ rate: 0.2, seed: 2 }),
      layers.dense({ units: 1, kernelInitializer: initializers.glorotUniform({ seed: 3 }) }),
    ],
  });
  model.compile({ optimizer: distributedOptimizer(tf, tf.train.adam(0.01), context), loss: 'meanSquaredError' });

  const state = trainingState(tf, { model });
  const resumed = await restoreCheckpoint(folder, state, context);
  if (context.replicaIdInSyncGroup === 0) console.log(`${resumed?.epoch ?? 0} epochs are done`);

  let steps = 0;
  const report = { onBatchEnd: async () => context.report(++steps) };
  const points = tf.linspace(-1, 1, 128).reshape([64, 2]);
  const [xs, ys] = shareOf(tf, [points, points.square().sum(1, true)] as const, context);
  await model.fit(xs, ys, {
    epochs: 8,
    initialEpoch: resumed?.epoch ?? 0,
    batchSize: 16 / context.numReplicasInSync,
    shuffle: false,
    verbose: 0,
    callbacks: distributedCallbacks(tf, [checkpointCallback(folder, state, context), report], context),
  });
  return tf.concat(model.getWeights().map((weight) => weight.flatten())).dataSync() as Float32Array;
}

// Validation, early stopping, a falling learning rate, checkpoints, and a progress line in one training.
import type { ReplicaContext } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer, shareOf, trainingState } from '@coll/tfjs';
import { checkpointCallback, metricsLog, progressLine, restoreCheckpoint } from '@coll/tfjs/node';
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';

/** Points of the plane, and 1 for each point that is inside the unit circle, otherwise 0. */
function points(count: number, seed: number): [xs: tf.Tensor2D, ys: tf.Tensor2D] {
  const xs = tf.randomUniform<tf.Rank.R2>([count, 2], -1.5, 1.5, 'float32', seed);
  return [xs, xs.square().sum(1, true).less(1).toFloat() as tf.Tensor2D];
}

/** Trains, or continues the training whose checkpoints are in the folder. Returns the epochs that are complete. */
export async function replica(context: ReplicaContext, folder: string, epochs: number): Promise<number> {
  await tf.setBackend('wasm');
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 16, activation: 'relu', inputShape: [2] }),
      tf.layers.dense({ units: 1, activation: 'sigmoid' }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.03), context);
  model.compile({ optimizer, loss: 'binaryCrossentropy', metrics: ['accuracy'] });

  const state = trainingState(tf, { model });
  const resumed = await restoreCheckpoint(folder, state, context);
  const [xs, ys] = shareOf(tf, points(1023, 1), context);
  const slower = {
    onEpochBegin: (epoch: number) => void Object.assign(optimizer, { learningRate: 0.03 * 0.95 ** epoch }),
  };
  const callbacks = [
    tf.callbacks.earlyStopping({ monitor: 'val_loss', patience: 3 }),
    slower,
    progressLine(context),
    metricsLog(`${folder}.jsonl`, context),
    checkpointCallback(folder, state, context, { best: 'val_loss' }),
  ];
  await model.fit(xs, ys, {
    epochs,
    initialEpoch: resumed?.epoch ?? 0,
    batchSize: 64 / context.numReplicasInSync,
    validationData: points(256, 2),
    callbacks: distributedCallbacks(tf, callbacks, context),
  });
  return state.epoch;
}

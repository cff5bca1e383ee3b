// Trains a TensorFlow.js model in all processes that the launcher has started, on one host or several.
import { MultiWorkerMirroredStrategy, SlurmClusterResolver } from '@coll/strategy';
import { distributedOptimizer, shareOf } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';

await using strategy = new MultiWorkerMirroredStrategy({
  clusterResolver: process.env['SLURM_STEP_ID'] ? new SlurmClusterResolver() : undefined,
  communicationOptions: { timeoutSeconds: 120 }, // fail instead of waiting forever for a lost worker
});
const { workers, worker } = await strategy.explain();
console.log(`worker ${worker} of ${workers} is ready`);

tf.enableProdMode(); // TensorFlow.js then prints no welcome message
const losses = await strategy.run(async (replica) => {
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] });
  model.compile({ optimizer: distributedOptimizer(tf, tf.train.sgd(0.1), replica), loss: 'meanSquaredError' });

  // Each replica trains on its own share of the samples of y = 3x + 1.
  const xs = shareOf(tf, tf.linspace(-1, 1, 1024).expandDims(1), replica);
  const batchSize = 128 / replica.numReplicasInSync;
  const { history } = await model.fit(xs, xs.mul(3).add(1), { epochs: 5, batchSize, verbose: 0 });

  return replica.allReduce('mean', Float32Array.from(history['loss'] as number[]));
});

if (strategy.extended.shouldCheckpoint) {
  const [mean] = strategy.experimentalLocalResults(losses);
  mean?.data.forEach((loss, epoch) => void console.log(`epoch ${epoch + 1}: loss ${loss.toFixed(4)}`));
}

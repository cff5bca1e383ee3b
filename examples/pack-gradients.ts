// Sums gradients over all replicas in packs of 50 MiB. An optimizer of TensorFlow.js then applies the sums.
import '@coll/direct/register';
import { CommunicationOptions, type Tensor, tensor } from '@coll/core';
import { getReplicaContext, MirroredStrategy } from '@coll/strategy';
import * as tf from '@tensorflow/tfjs';

tf.enableProdMode();
await tf.setBackend('cpu');

type Loss = (slope: tf.Tensor, offset: tf.Tensor) => tf.Scalar;

const options = new CommunicationOptions({ bytesPerPack: 50 * 1024 * 1024 });
const optimizer = tf.train.sgd(0.1);

async function trainStep(loss: Loss, vars: tf.Variable[]): Promise<void> {
  const gradients = tf.grads(loss)(vars);
  const grads = await Promise.all(
    gradients.map(async (grad) => tensor(await grad.data<'float32'>(), { shape: grad.shape })),
  );
  const sums = (await getReplicaContext()?.allReduce('sum', grads, options)) ?? grads;
  tf.tidy(() => optimizer.applyGradients(zip(sums, vars)));
  tf.dispose(gradients);
}

function zip(grads: readonly Tensor<'float32'>[], vars: readonly tf.Variable[]) {
  return grads.map(({ data, shape }, index) => ({
    name: (vars[index] as tf.Variable).name,
    tensor: tf.tensor(data, [...shape]),
  }));
}

await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });

// Each replica has half of the data. Its loss is divided by the number of all samples, so the sum of both gradients is the gradient of all samples.
const learned = await strategy.run(async ({ replicaIdInSyncGroup: replica }) => {
  const x = tf.tensor(replica === 0 ? [0, 1] : [2, 3]);
  const y = x.mul(3).add(1);
  const vars = ['slope', 'offset'].map((name) => tf.variable(tf.scalar(0), true, `${name} of replica ${replica}`));
  const loss: Loss = (slope, offset) => x.mul(slope).add(offset).sub(y).square().sum().div(4);
  for (let step = 0; step < 200; step++) await trainStep(loss, vars);
  return vars.map((variable) => variable.dataSync()[0]?.toFixed(2)).join(' x + ');
});
// Both replicas return the same text, so `run` returns this text once.
console.log(`y = ${learned}`);

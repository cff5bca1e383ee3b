// Predicts the price of houses from a table in a file.
import { fileURLToPath } from 'node:url';
import type { ReplicaContext } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer, shareOf } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';

const file = fileURLToPath(new URL('houses.csv', import.meta.url));

/** The rows of the table as numbers of about the same size. */
function houses() {
  const scales = { area: 200, rooms: 10, age: 100, distance: 30, price: 1000 };
  return tf.data.csv(`file://${file}`, { columnConfigs: { price: { isLabel: true } } }).map((row) => {
    const { xs, ys } = row as unknown as Record<'xs' | 'ys', Record<string, number>>;
    const scaled = (values: Record<string, number>) =>
      Object.entries(values).map(([name, value]) => value / scales[name as keyof typeof scales]);
    return { xs: scaled(xs), ys: scaled(ys) };
  });
}

export async function replica(context: ReplicaContext): Promise<number[]> {
  await tf.setBackend('cpu');
  const model = tf.sequential({
    layers: [
      tf.layers.dense({
        units: 16,
        activation: 'relu',
        inputShape: [4],
        kernelInitializer: tf.initializers.heNormal({ seed: 1 }),
      }),
      tf.layers.dense({ units: 1, kernelInitializer: tf.initializers.glorotUniform({ seed: 2 }) }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.01), context);
  model.compile({ optimizer, loss: 'meanSquaredError' });
  const rows = shareOf(tf, houses().shuffle(100, 'houses').batch(32), context);
  const print = {
    onEpochEnd: (epoch: number, logs?: tf.Logs) =>
      console.log(`epoch ${epoch + 1}: loss ${logs?.['loss']?.toFixed(5)}`),
  };
  const { history } = await model.fitDataset(rows, {
    epochs: 5,
    callbacks: distributedCallbacks(tf, [], context, { onReplica0: print }),
  });
  return history['loss'] as number[];
}

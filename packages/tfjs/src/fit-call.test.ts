import { setLogSink } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { unisonContext } from '../test/unison-context.ts';
import { distributedCallbacks } from './distributed-callbacks.js';
import { distributedOptimizer } from './distributed-optimizer.js';
import { shareOf } from './share-of.js';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

/** A replica that repeats a row if the number of rows is odd. */
const contextOf = (): ReplicaContext => ({ ...unisonContext().context, replicaIdInSyncGroup: 1 });

function compiled(context: ReplicaContext): tf.Sequential {
  const layer = tf.layers.dense({ units: 1, inputShape: [2], kernelInitializer: 'ones' });
  const model = tf.sequential({ layers: [layer] });
  model.compile({ optimizer: distributedOptimizer(tf, tf.train.sgd(0), context), loss: 'meanSquaredError' });
  return model;
}

it.each([
  ['in a batch of its own', 2, [2, 0]],
  ['in the last batch', 3, [2]],
])(
  'fit leaves the repeated row out of losses and sizes if it is %s, and keeps no tensors',
  async (_, batchSize, expected) => {
    const context = contextOf();
    const model = compiled(context);
    const xs = shareOf(tf, tf.tensor2d([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [5, 2]), context);
    // Labels of one axis become other tensors in `fit`.
    const ys = shareOf(tf, tf.zeros([5]), context);
    const sizes: unknown[] = [];
    const callbacks = { onBatchEnd: (_batch: number, logs?: tf.Logs) => void sizes.push(logs?.['size']) };
    const fit = (args: tf.ModelFitArgs) => model.fit(xs, ys, { batchSize, shuffle: false, verbose: 0, ...args });
    await fit({});
    const before = tf.memory().numTensors;
    const { history } = await fit({ epochs: 2, callbacks });
    expect(sizes).toEqual([...expected, ...expected]);
    const loss = (2 ** 2 + 6 ** 2) / 2;
    expect(history['loss']).toEqual([loss, loss]);
    expect(tf.memory().numTensors).toBe(before);
  },
);

it('fit without batchSize says once that the global batch grows with the replicas', async () => {
  const lines: string[] = [];
  setLogSink((_, message) => lines.push(message));
  const model = compiled({ ...contextOf(), replicaIdInSyncGroup: 0 });
  for (let call = 0; call < 2; call++) await model.fit(tf.ones([4, 2]), tf.ones([4, 1]), { verbose: 0 });
  setLogSink();
  expect(lines).toEqual([
    'fit: without batchSize, each of 2 replicas takes 32 rows per step, 64 in all; to train like one replica, set batchSize to 32 / context.numReplicasInSync',
  ]);
});

it('trainOnBatch refuses more samples than its batch has rows', async () => {
  const context = contextOf();
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
  const optimizer = distributedOptimizer(tf, tf.train.sgd(0.1), context, { samples: () => 4 });
  model.compile({ optimizer, loss: 'meanSquaredError' });
  const xs = shareOf(tf, tf.ones([5, 2]), context);
  await expect(model.trainOnBatch(xs, tf.ones([3, 1]))).rejects.toThrow(
    'the samples of a step must be a whole number from 0 to the 3 rows of its batch, got 4',
  );
});

it('a step that fails leaves no number of samples for the steps after it', async () => {
  const context = contextOf();
  const optimizer = distributedOptimizer(tf, tf.train.sgd(0.1), context);
  const fail = () => {
    throw new Error('no loss');
  };
  const callbacks = distributedCallbacks(tf, [], context);
  await callbacks.onBatchBegin(0, { size: 1 });
  expect(() => optimizer.minimize(fail)).toThrow('no loss');
  const model = compiled(context);
  const loss = await model.trainOnBatch(tf.tensor2d([0, 0, 1, 1], [2, 2]), tf.zeros([2, 1]));
  expect(loss).toBe(2 ** 2 / 2);
});

it.each(['exact', 'drop'] as const)(
  'fit refuses shares of data with different numbers of rows (%s)',
  async (remainder) => {
    const context = { ...contextOf(), replicaIdInSyncGroup: 0 };
    const share = (rows: number) => shareOf(tf, tf.ones([rows, 2]), context, { remainder });
    const rows = remainder === 'drop' ? 5 : 3;
    const labels = shareOf(tf, tf.ones([rows, 1]), context, { remainder });
    expect(share(4).shape[0]).toBe(labels.shape[0]);
    await expect(compiled(context).fit(share(4), labels, { batchSize: 2, verbose: 0 })).rejects.toThrow(
      `fit: x and y must be shares of data with the same number of rows, got shares of 4 and ${rows} rows`,
    );
  },
);

it.each([
  [3, 64, 'use 63 or 66'],
  [4, 2, 'use 4'],
])('fit with %i replicas refuses a global batch of %i rows', async (numReplicasInSync, batch, message) => {
  const model = compiled({ ...contextOf(), numReplicasInSync });
  const fit = model.fit(tf.ones([9, 2]), tf.ones([9, 1]), { batchSize: batch / numReplicasInSync, verbose: 0 });
  await expect(fit).rejects.toThrow(`multiple of ${numReplicasInSync}, one part per replica, got ${batch}; ${message}`);
});

it('a model without a distributed optimizer is not checked', async () => {
  compiled(contextOf());
  const plain = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
  plain.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
  await expect(plain.fit(tf.ones([3, 2]), tf.ones([3, 1]), { batchSize: 1.5 })).rejects.toThrow('positive integer');
});

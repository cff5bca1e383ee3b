import type { ReplicaContext } from '@coll/strategy';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { unisonContext } from '../test/unison-context.ts';
import { type DistributedCallbacksOptions, distributedCallbacks } from './distributed-callbacks.js';
import { distributedOptimizer } from './distributed-optimizer.js';
import { shareOf } from './share-of.js';
import { rowsOf } from './uneven-shares.js';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

/** A replica whose peer does exactly as it does, and the collectives of both. */
function replicaOf(replicaIdInSyncGroup: number) {
  const { context, calls } = unisonContext();
  const allReduce = async (op: string, values: readonly Uint8Array[], options?: object) => {
    // The values that replicas gather stand one after the other.
    const [own, other] = [replicaIdInSyncGroup, 1 - replicaIdInSyncGroup];
    if (op === 'sum')
      for (const value of values) value.copyWithin((other * value.length) / 2, (own * value.length) / 2);
    return context.allReduce(op as 'sum', values, options);
  };
  return { context: { ...context, replicaIdInSyncGroup, allReduce } as unknown as ReplicaContext, calls };
}

function compiled(context: ReplicaContext): tf.Sequential {
  const layer = tf.layers.dense({ units: 1, inputShape: [1], kernelInitializer: 'ones' });
  const model = tf.sequential({ layers: [layer] });
  model.compile({ optimizer: distributedOptimizer(tf, tf.train.sgd(0), context), loss: 'meanSquaredError' });
  return model;
}

it('validates on the own rows of the part that validationSplit takes, and refuses more rows than it has', async () => {
  // The second replica has 4 rows of 9, and a repeated one.
  const { context } = replicaOf(1);
  const [xs, ys] = shareOf(tf, [tf.range(0, 9), tf.zeros([9])], context) as [tf.Tensor, tf.Tensor];
  const fit = (options: DistributedCallbacksOptions) =>
    compiled(context).fit(xs, ys, {
      ...{ validationSplit: 0.4, batchSize: 3, shuffle: false, verbose: 0 },
      callbacks: distributedCallbacks(tf, [], context, options),
    });
  await expect(fit({ validationRows: rowsOf(xs) })).rejects.toThrow(
    'validationRows must be at most 2, the rows that this replica validates on, got 4; for a share xs',
  );
  const { history } = await fit({ validationRows: rowsOf(xs) - Math.floor(5 * (1 - 0.4)) });
  expect(history['val_loss']).toEqual([7 ** 2]);
});

it.each(['onBatchBegin', 'onBatchEnd', 'onEpochBegin', 'onEpochEnd'])(
  'an evaluation in %s, which one replica may make alone, takes no collective',
  async (method) => {
    const [xs, ys] = [tf.ones([4, 1]), tf.zeros([4, 1])];
    const callsOf = async (evaluates: boolean) => {
      const { context, calls } = replicaOf(0);
      const model = compiled(context);
      const callback = { [method]: () => tf.dispose(evaluates ? model.evaluate(xs, ys) : []) };
      const callbacks = distributedCallbacks(tf, callback, context);
      await model.fit(xs, ys, { epochs: 2, batchSize: 2, verbose: 0, callbacks });
      return calls.length;
    };
    expect(await callsOf(true)).toBe(await callsOf(false));
  },
);

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

/** A replica whose peer does exactly as it does. */
function secondReplica(): ReplicaContext {
  const { context } = unisonContext();
  const allReduce = async (op: string, values: readonly Uint8Array[], options?: object) => {
    // The values that replicas gather stand one after the other.
    if (op === 'sum') for (const value of values) value.copyWithin(0, value.length / 2);
    return context.allReduce(op as 'sum', values, options);
  };
  return { ...context, replicaIdInSyncGroup: 1, allReduce } as unknown as ReplicaContext;
}

function compiled(context: ReplicaContext): tf.Sequential {
  const layer = tf.layers.dense({ units: 1, inputShape: [1], kernelInitializer: 'ones' });
  const model = tf.sequential({ layers: [layer] });
  model.compile({ optimizer: distributedOptimizer(tf, tf.train.sgd(0), context), loss: 'meanSquaredError' });
  return model;
}

it('validates on the own rows of the part that validationSplit takes, and refuses more rows than it has', async () => {
  // The second replica has 4 rows of 9, and a repeated one.
  const context = secondReplica();
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

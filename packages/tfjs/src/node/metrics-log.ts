import { open } from 'node:fs/promises';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { type ReplicaInfo, requireContext } from '@coll/strategy/internal';
import type { TfCallback } from '../tf-callbacks.js';

/**
 * Makes a callback that appends one line of JSON per epoch to a file, on replica 0: the number of the
 * epoch, from 0, the number of steps since the training began, the time as ISO 8601, and the metrics.
 * NaN and infinity are written as null. The line is on the disk before the next epoch begins.
 *
 * Pass it to `distributedCallbacks`, so that the metrics are those of all replicas.
 * @throws ValueError for arguments of a wrong type; the error of the file system, at the end of the
 * first epoch, if the file cannot be written
 *
 * @example
 * ```ts
 * import { mkdtemp, readFile } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { distributedCallbacks } from '@coll/tfjs';
 * import { metricsLog } from '@coll/tfjs/node';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const file = join(await mkdtemp(join(tmpdir(), 'training-')), 'metrics.jsonl');
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run(async (replica) => {
 *   const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [1], units: 1 })] });
 *   model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 *   await model.fit(tf.zeros([4, 1]), tf.zeros([4, 1]), {
 *     epochs: 2,
 *     verbose: 0,
 *     callbacks: distributedCallbacks(tf, metricsLog(file, replica), replica),
 *   });
 * });
 * const [line] = (await readFile(file, 'utf8')).split('\n');
 * console.log(line); // {"epoch":0,"step":1,"time":"…","loss":0}
 * ```
 */
export function metricsLog(file: string | URL, context: ReplicaInfo): TfCallback {
  if (typeof file !== 'string' && !(file instanceof URL)) {
    const message = `metricsLog: file must be a path or a file URL, got ${quote(file)}`;
    throw new ValueError('ERR_COLL_VALUE', message);
  }
  requireContext(context, 'allReduce', 'metricsLog');
  if (context.replicaIdInSyncGroup !== 0) return {};
  let step = 0;
  return {
    onTrainBegin: () => {
      step = 0;
    },
    onBatchBegin: () => {
      step += 1;
    },
    onEpochEnd: (epoch, logs) => append(file, { ...logs, epoch, step, time: new Date().toISOString() }),
  };
}

async function append(file: string | URL, { epoch, step, time, ...metrics }: Record<string, unknown>): Promise<void> {
  const handle = await open(file, 'a');
  try {
    await handle.appendFile(`${JSON.stringify({ epoch, step, time, ...metrics })}\n`);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

// A replica that returns its share of the training points, and the test points, as JSON.
import type { ReplicaContext } from '@coll/strategy';
import { rowsOf, shareOf } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';
import { points } from '../data.ts';

export async function replica(context: ReplicaContext): Promise<string> {
  await tf.setBackend('cpu');
  const { train, test } = points();
  const { xs } = shareOf(tf, train, context);
  return JSON.stringify([xs.slice(0, rowsOf(xs)).arraySync(), test.xs.arraySync()]);
}

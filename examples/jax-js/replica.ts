// The same script as a function, which each replica calls in its own thread.
import { batches, dataParallel } from '@coll/jax-js';
import type { ReplicaContext } from '@coll/strategy';
import { jit, numpy as np, tree, valueAndGrad } from '@jax-js/jax';
import { points } from './data.ts';
import { accuracy, initialParams, loss } from './model.ts';
import { adam, zeroMoments } from './optimizers.ts';

export async function replica(context: ReplicaContext): Promise<void> {
  const { train, test } = points();
  const data = { x: np.array(train.x).reshape([-1, 2]), y: np.array(train.y) };
  const parts = await batches(context, data, { batchSize: 64 });
  const step = dataParallel(context, jit(valueAndGrad(loss)));
  let params = initialParams();
  let moments = zeroMoments(params);
  for (let epoch = 0; epoch < 10; epoch++) {
    let last = 0;
    for (const { x, y } of parts.epoch(epoch)) {
      const [value, gradients] = await step(tree.ref(params), x, y);
      [params, moments] = adam(params, gradients, moments);
      last = value.item();
    }
    const share = accuracy(tree.ref(params), np.array(test.x).reshape([-1, 2]), np.array(test.y)).item();
    if (context.replicaIdInSyncGroup > 0) continue;
    console.log(`epoch ${epoch + 1}: loss ${last.toFixed(3)}, accuracy ${share.toFixed(2)}`);
  }
}

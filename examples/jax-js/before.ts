// An ordinary jax-js script, which trains on one core.
import { jit, numpy as np, tree, valueAndGrad } from '@jax-js/jax';
import { points } from './data.ts';
import { accuracy, initialParams, loss } from './model.ts';
import { adam, zeroMoments } from './optimizers.ts';

async function train(): Promise<void> {
  const { train, test } = points();
  const step = jit(valueAndGrad(loss));
  let params = initialParams();
  let moments = zeroMoments(params);
  for (let epoch = 0; epoch < 10; epoch++) {
    let last = 0;
    for (let row = 0; row < train.y.length; row += 64) {
      const x = np.array(train.x.subarray(2 * row, 2 * (row + 64))).reshape([-1, 2]);
      const y = np.array(train.y.subarray(row, row + 64));
      const [value, gradients] = step(tree.ref(params), x, y);
      [params, moments] = adam(params, gradients, moments);
      last = value.item();
    }
    const share = accuracy(tree.ref(params), np.array(test.x).reshape([-1, 2]), np.array(test.y)).item();
    console.log(`epoch ${epoch + 1}: loss ${last.toFixed(3)}, accuracy ${share.toFixed(2)}`);
  }
}

await train();

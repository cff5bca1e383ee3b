import { jit, nn, numpy as np, random } from '@jax-js/jax';

export type Params = { hidden: { w: np.Array; b: np.Array }; output: { w: np.Array; b: np.Array } };

/** Random weights. Because of the key, each call returns the same. */
export function initialParams(): Params {
  const [first, second] = random.split(random.key(7), 2) as unknown as [np.Array, np.Array];
  return {
    hidden: { w: random.normal(first, [2, 16]), b: np.zeros([16]) },
    output: { w: random.normal(second, [16, 1]).mul(0.25), b: np.zeros([1]) },
  };
}

/** For each point, the logit of being inside. */
function predict({ hidden, output }: Params, x: np.Array): np.Array {
  const h = nn.relu(np.matmul(x, hidden.w).add(hidden.b));
  return np.matmul(h, output.w).add(output.b).flatten();
}

/** The mean cross-entropy of a batch. */
export function loss(params: Params, x: np.Array, y: np.Array): np.Array {
  const logits = predict(params, x);
  return nn.softplus(logits.ref).sub(logits.mul(y)).mean();
}

/** The share of points that the model gets right. */
export const accuracy = jit((params: Params, x: np.Array, y: np.Array) =>
  predict(params, x).greater(0).equal(y.greater(0.5)).astype(np.float32).mean(),
);

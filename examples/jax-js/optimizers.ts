import { jit, numpy as np, tree } from '@jax-js/jax';
import type { Params } from './model.ts';

/** Stochastic gradient descent. */
export const sgd = jit(
  (params: Params, gradients: Params): Params =>
    tree.map((p: np.Array, g: np.Array) => p.sub(g.mul(0.1)), params, gradients),
);

/** The number of steps, and the moments of the gradients. */
export type Moments = { t: np.Array; m: Params; v: Params };

export function zeroMoments(params: Params): Moments {
  const zeros = () => tree.map((p: np.Array) => np.zeros(p.shape), params);
  return { t: np.array(0), m: zeros(), v: zeros() };
}

/** Adam, of Kingma and Ba (2015). */
export const adam = jit((params: Params, gradients: Params, { t, m, v }: Moments): [Params, Moments] => {
  const steps = t.add(1);
  const nextM = tree.map((a: np.Array, g: np.Array) => a.mul(0.9).add(g.mul(0.1)), m, tree.ref(gradients));
  const nextV = tree.map((a: np.Array, g: np.Array) => a.mul(0.999).add(np.square(g).mul(0.001)), v, gradients);
  const unbiased = (moment: np.Array, beta: number) => moment.div(np.power(beta, steps.ref).neg().add(1));
  const update = (p: np.Array, a: np.Array, b: np.Array) =>
    p.sub(
      unbiased(a, 0.9)
        .mul(0.02)
        .div(np.sqrt(unbiased(b, 0.999)).add(1e-8)),
    );
  const nextParams = tree.map(update, params, tree.ref(nextM), tree.ref(nextV));
  return [nextParams, { t: steps, m: nextM, v: nextV }];
});

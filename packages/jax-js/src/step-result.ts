import { quote } from '@coll/core/internal';
import { numpy as np } from '@jax-js/jax';
import { arrayOf, type Elements, invalid, isLikeArray, type JaxArray, requireFloating } from './arrays.js';
import { arraysOf, type NamedArray } from './collectives.js';
import { rebuilt } from './trees.js';

/** What `valueAndGrad` returns, taken apart. */
export interface StepResult {
  readonly whole: unknown;
  readonly aux: unknown;
  readonly hasAux: boolean;
  readonly gradients: unknown;
  /** The arrays that are averaged: the loss, the gradients and, for `aux: 'mean'`, those of aux. */
  readonly averaged: readonly NamedArray[];
}

/** @throws ValueError unless `whole` is what `valueAndGrad` returns, and its arrays have means */
export function stepResultOf(whole: unknown, aux: 'own' | 'mean', operation: string): StepResult {
  const [value, gradients] = Array.isArray(whole) && whole.length === 2 ? whole : [];
  const hasAux = Array.isArray(value) && value.length === 2;
  const loss: unknown = hasAux ? value[0] : value;
  if (!isLikeArray(loss)) {
    const message = 'fn must return [loss, gradients] or [[loss, aux], gradients], as jit(valueAndGrad(loss)) does';
    throw invalid(operation, `${message}, got ${quote(whole)}`);
  }
  const ownAux: unknown = hasAux ? value[1] : undefined;
  const averaged = [
    ...arraysOf(loss, operation, 'loss'),
    ...arraysOf(gradients, operation, 'gradients'),
    ...(hasAux && aux === 'mean' ? arraysOf(ownAux, operation, 'aux') : []),
  ];
  for (const array of averaged) requireFloating(array, array.path, operation);
  return { whole, aux: ownAux, hasAux, gradients, averaged };
}

/** A result of the same structure with means in place of the averaged arrays. `isEmpty`: its own aux is of zeros. */
export function withMeans(
  { aux, hasAux, gradients, averaged }: StepResult,
  means: readonly Elements[],
  isEmpty: boolean,
): unknown {
  const arrays = means.map((elements, index) => {
    const form = averaged[index] as NamedArray;
    return arrayOf(elements, form, form.array.device);
  });
  const [loss, ...others] = arrays;
  const newGradients = rebuilt(gradients, others);
  if (!hasAux) return [loss, newGradients];
  const ofAux = others.slice(countOf(gradients));
  if (ofAux.length > 0) return [[loss, rebuilt(aux, ofAux)], newGradients];
  return [[loss, isEmpty ? zerosLike(aux) : aux], newGradients];
}

function countOf(tree: unknown): number {
  return arraysOf(tree, '').length;
}

function zerosLike(tree: unknown): unknown {
  const zeros = arraysOf(tree, 'dataParallel', 'aux').map(({ dtype, shape }) =>
    np.zeros([...shape], { dtype: dtype as JaxArray['dtype'] }),
  );
  return rebuilt(tree, zeros);
}

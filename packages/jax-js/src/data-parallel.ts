import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import type { GradientOptions } from '@coll/strategy';
import { requireContext } from '@coll/strategy/internal';
import { type AnyFunction, DataParallelStep, type StepContext, type StepOptions } from './data-parallel-step.js';
import type { OnDifference } from './step-guard.js';
import { requireUntraced } from './trees.js';

/** How `dataParallel` averages, and what it compares. */
export interface DataParallelOptions<Args extends readonly unknown[] = never> extends GradientOptions {
  /**
   * How many samples of a call this replica's loss is the mean of, by which loss and gradients are weighted: a number, or a
   * function of the arguments, which it must not consume. Default: the first axis of the arrays after the first argument,
   * which must have one length.
   */
  readonly samples?: number | ((...args: Args) => number) | undefined;
  /**
   * What replicas get as `aux` of a loss function with `hasAux`. `'own'`: what their own call returned, of zeros in a step in
   * which they have no samples. `'mean'`: the mean over replicas, weighted as the loss; all arrays must then be floats, such
   * as metrics. Default: `'own'`.
   */
  readonly aux?: 'own' | 'mean' | undefined;
  /** What happens if the parameters of replicas are no longer equal: an error, or one warning. Default: `'throw'`. */
  readonly onDifference?: OnDifference | undefined;
}

const names = knownOptions<DataParallelOptions>('dataParallel', {
  samples: true,
  aux: true,
  onDifference: true,
  bytesPerPack: true,
  timeoutSeconds: true,
  onAllReduce: true,
});

/**
 * Makes a function that computes loss and gradients on this replica's samples, and returns their means over all replicas:
 * those of the whole batch, with the same bits on all replicas. `fn` is `jit(valueAndGrad(loss))`, with or without
 * `hasAux`. The result takes the same arguments and resolves to the same structure. All replicas call it equally often,
 * each with its part of the batch, and await each call before the next one. A step takes one all-reduce, which blocks the
 * thread of a replica that has it to itself; await other collectives before it.
 *
 * As in jax-js, each call consumes the arrays among its arguments, and the caller owns the result.
 *
 * Replicas must start with equal parameters, the first argument: initialize them from the same random key, or call
 * `broadcast` before the first step. They stay equal because all apply the same gradients. A fingerprint of the
 * parameters is compared in the first step, then every `weights / 16384` steps, rounded up. The first NaN or infinity is
 * logged with its path and replica; of arrays with more than 1024 elements, each step checks 1024. With one replica,
 * nothing is exchanged or compared.
 * @throws ValueError for invalid arguments. Calls of the result reject with InvalidArgumentError, the same on all
 * replicas, if parameters, or the structures, shapes or dtypes of gradients differ; with ValueError if the number of
 * samples is not known, no replica has samples, or an array cannot be averaged; with RuntimeError while another call of
 * this replica is under way
 *
 * @example
 * ```ts
 * import { dataParallel } from '@coll/jax-js';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { jit, numpy as np, valueAndGrad } from '@jax-js/jax';
 *
 * const loss = (w: np.Array, x: np.Array) => x.mul(w).mean();
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const results = await strategy.run(async (replica) => {
 *   const step = dataParallel(replica, jit(valueAndGrad(loss)));
 *   const [mean, gradient] = await step(np.array(3), np.array([2 * replica.replicaIdInSyncGroup, 4]));
 *   return [mean.js(), gradient.js()];
 * });
 * console.log(strategy.experimentalLocalResults(results)); // [ [ 7.5, 2.5 ], [ 7.5, 2.5 ] ]
 * ```
 */
export function dataParallel<Fn extends (...args: never[]) => unknown>(
  context: StepContext,
  fn: Fn,
  options?: DataParallelOptions<Parameters<Fn>>,
): (...args: Parameters<Fn>) => Promise<ReturnType<Fn>> {
  const operation = 'dataParallel';
  requireContext(context, 'allReduce', operation);
  if (typeof fn !== 'function')
    throw new ValueError('ERR_COLL_VALUE', `${operation}: fn must be jit(valueAndGrad(loss)), got ${quote(fn)}`);
  const given = optionsOf(options, '{ samples: 64 }', names);
  requireOneOf(given.aux, 'aux', ['own', 'mean']);
  requireOneOf(given.onDifference, 'onDifference', ['throw', 'warn']);
  if (!['undefined', 'number', 'function'].includes(typeof given.samples)) {
    const message = `samples must be a number or a function, got ${quote(given.samples)}`;
    throw new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`);
  }
  const step = new DataParallelStep(fn as unknown as AnyFunction, context, given as StepOptions);
  return (...args) => {
    requireUntraced(args, operation, 'arguments');
    return step.call(args) as Promise<ReturnType<Fn>>;
  };
}

function requireOneOf(value: unknown, name: string, known: readonly string[]): void {
  if (value === undefined || known.includes(value as string)) return;
  const choices = known.map((each) => `'${each}'`).join(' or ');
  throw new ValueError('ERR_COLL_VALUE', `dataParallel: ${name} must be ${choices}, got ${quote(value)}`);
}

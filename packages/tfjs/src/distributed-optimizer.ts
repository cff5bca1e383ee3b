import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import { type GradientOptions, requireContext } from '@coll/strategy/internal';
import { requireModel } from './broadcast-weights.js';
import { countSteps } from './counted-steps.js';
import { DistributedStep } from './distributed-step.js';
import { LearningRate } from './learning-rate.js';
import { noteDistributed, watchPlainOptimizers } from './plain-optimizers.js';
import {
  requireTensorFlow,
  type TensorFlow,
  type TfGradients,
  type TfModel,
  type TfOptimizer,
  type TfTensor,
  type TfVariable,
} from './tensorflow.js';
import { watchModels } from './watched-models.js';

/** How a distributed optimizer averages gradients and keeps replicas equal. */
export interface DistributedOptimizerOptions extends GradientOptions {
  /**
   * Models that the optimizer trains. Their other weights, such as those of frozen layers and moving
   * statistics, are set to the values of replica 0 in the first step, too. Default: models that are
   * compiled with the optimizer.
   */
  readonly model?: TfModel | readonly TfModel[] | undefined;
  /**
   * Called once per step in loops of your own, returns the number of samples in this replica's part of
   * the batch, with which its gradients are weighted. The loss function is not called for 0 samples.
   * In `fit` and `fitDataset` the size of the batch counts, in `trainOnBatch` also if shares have
   * equally many rows. Default: the `size` given
   * to `onBatchBegin` of `distributedCallbacks`, else the same number on all replicas, but 0 if the
   * loss was computed from empty tensors.
   */
  readonly samples?: (() => number) | undefined;
  /**
   * What happens if replicas are found to differ in the settings or the state of the optimizer, or
   * in variables: 'throw' ends the training with an error, 'warn' logs one line. Default: 'throw'.
   */
  readonly onDifference?: 'throw' | 'warn' | undefined;
  /**
   * Accumulates the gradients of this many steps. Only the last of them exchanges gradients and changes
   * variables, with the mean over the samples of all of them. The result is that of one step with all
   * these samples, in the memory of one step. Steps left at the end of the training change nothing.
   * Default: 1.
   */
  readonly every?: number | undefined;
  /**
   * Scales the mean of all gradients so that their global norm, the square root of the sum of all
   * squares, is this number at most. Default: no limit.
   */
  readonly clipByGlobalNorm?: number | undefined;
  /**
   * Steps that change variables over which the learning rate grows linearly to that of the optimizer,
   * counted by its `iterations`. In step k it is k / warmUpSteps of it. Default: 0.
   */
  readonly warmUpSteps?: number | undefined;
  /**
   * Multiplies the learning rate by the number of replicas. For trainings whose global batch grows with
   * the number of replicas, because each replica keeps its batch size. Default: false.
   */
  readonly scaleLearningRate?: boolean | undefined;
}

const distributedOptimizerOptions = knownOptions<DistributedOptimizerOptions>('distributedOptimizer', {
  bytesPerPack: true,
  timeoutSeconds: true,
  onAllReduce: true,
  model: true,
  samples: true,
  onDifference: true,
  every: true,
  clipByGlobalNorm: true,
  warmUpSteps: true,
  scaleLearningRate: true,
});

/**
 * Makes an optimizer whose steps apply the mean of all replicas' gradients. A model that is
 * compiled with this optimizer trains data-parallel in `model.fit`. All other methods, such as
 * `dispose` and those for saving, are those of the given optimizer.
 *
 * Each replica calls this function in its own thread, and computes each step on its own part of
 * the batch. Gradients are weighted by the samples of the parts, see the option `samples`, so the
 * step equals that of the whole batch; an empty part contributes nothing. Variables are set to the
 * values of replica 0 on first use: before the first forward pass in `fit`, `minimize` and
 * `computeGradients`. Without a list of variables, the first step finds those that the loss depends
 * on, and calls the loss function a second time. A missing gradient counts as zeros if another
 * replica has one; if no replica has one, the variable does not change. Losses and metrics are per
 * replica.
 *
 * With the options `every`, `clipByGlobalNorm` and `warmUpSteps`, a single replica steps like several,
 * so that their results are equal, up to rounding. Without these options, it gets the given optimizer
 * itself.
 *
 * Each step compares the list of variables, the class and scalar settings of the optimizer, and the
 * options that change steps; the first step and the step after `setWeights` also its state; every
 * `weights / 16384` steps the variables, on the cpu and wasm backends. Other weights, such as moving
 * statistics, are not compared. The first NaN or infinity in a gradient is logged with its replica
 * and step: small gradients are checked whole, large ones at 1024 elements, others in each step. If
 * the model is compiled again with an optimizer that is not distributed, its first step logs a
 * warning. So does a run at its end if optimizers stepped on several replicas, and none of them was
 * distributed.
 *
 * @throws ValueError unless `optimizer` is an optimizer object; in a step InvalidArgumentError, the
 * same on all replicas, if their models, optimizers or variables differ, before any variable
 * changes
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { distributedOptimizer } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const weight = tf.scalar(1).variable();
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run((replica) => {
 *   const optimizer = distributedOptimizer(tf, tf.train.sgd(0.5), replica);
 *   optimizer.minimize(() => weight.square().asScalar());
 * });
 * console.log(weight.dataSync()); // Float32Array(1) [ 0 ]
 * ```
 */
export function distributedOptimizer<Optimizer extends TfOptimizer>(
  tf: TensorFlow,
  optimizer: Optimizer,
  context: ReplicaContext,
  options?: DistributedOptimizerOptions,
): Optimizer {
  requireTensorFlow(tf, 'distributedOptimizer');
  requireOptimizer(optimizer);
  requireContext(context, 'allReduceSync', 'distributedOptimizer');
  const { model, samples, onDifference, ...given } = checkedOptions(options);
  const { every = 1, clipByGlobalNorm, warmUpSteps = 0, scaleLearningRate = false } = given;
  const compared = {
    ...(every === 1 ? {} : { every }),
    clipByGlobalNorm,
    ...(warmUpSteps === 0 ? {} : { warmUpSteps }),
    ...(scaleLearningRate ? { scaleLearningRate } : {}),
  };
  const learningRate = learningRateOf(optimizer, given, context);
  // A single replica steps like several with these options.
  const stepsPlainly = every === 1 && clipByGlobalNorm === undefined && warmUpSteps === 0;
  if (context.numReplicasInSync === 1 && stepsPlainly) {
    countSteps(tf, optimizer, context, samples);
    return optimizer;
  }
  const models = (Array.isArray(model) ? model : [model ?? []]).flat() as readonly TfModel[];
  const step = new DistributedStep(tf, optimizer, context, {
    ...given,
    models,
    samples,
    onDifference: onDifference ?? 'throw',
    ...{ every, clipByGlobalNorm, learningRate, compared },
  });
  const replaced = {
    computeGradients: (f: () => TfTensor, variables?: TfVariable[]) => step.computeGradients(f, variables),
    applyGradients: (gradients: TfGradients) => step.applyGradients(gradients),
    // The optimizer's own `minimize` calls the methods above.
    minimize: (f: () => TfTensor, returnCost?: boolean, variables?: TfVariable[]) =>
      step.minimize(f, variables, () => plain.minimize.call(distributed, f, returnCost, variables)),
    setWeights: async (weights: unknown) => {
      await plain.setWeights(weights);
      step.noteLoad();
    },
  };
  const plain = optimizer as unknown as PlainOptimizer;
  const distributed: Optimizer = new Proxy(optimizer, {
    get(target, key) {
      if (Object.hasOwn(replaced, key) && key in target) return replaced[key as keyof typeof replaced];
      const value = Reflect.get(target, key, target);
      // Methods are bound to the optimizer, because they may use its private fields.
      return typeof value === 'function' && key !== 'constructor' ? value.bind(target) : value;
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
  watchModels(tf, distributed, step);
  noteDistributed(distributed);
  watchPlainOptimizers(tf);
  watchPlainOptimizers(tf, optimizer);
  return distributed;
}

/** The methods of an optimizer that the distributed one calls. */
interface PlainOptimizer {
  minimize(f: () => TfTensor, returnCost?: boolean, variables?: TfVariable[]): unknown;
  setWeights(weights: unknown): Promise<void>;
}

/** @throws ValueError for an option of a wrong name or value */
function checkedOptions(options: DistributedOptimizerOptions | undefined): DistributedOptimizerOptions {
  const given = optionsOf(options, '{ timeoutSeconds: 60 }', distributedOptimizerOptions);
  const { model = [], samples, onDifference = 'throw', scaleLearningRate = false } = given;
  const { every = 1, clipByGlobalNorm = 1, warmUpSteps = 0 } = given;
  for (const each of Array.isArray(model) ? model : [model]) requireModel(each, 'distributedOptimizer: model');
  if (samples !== undefined && typeof samples !== 'function') {
    const message = `samples must be a function that returns the number of samples of a step, got ${quote(samples)}`;
    throw new ValueError('ERR_COLL_VALUE', `distributedOptimizer: ${message}`);
  }
  if (onDifference !== 'throw' && onDifference !== 'warn') {
    const message = `onDifference must be 'throw' or 'warn', got ${quote(onDifference)}`;
    throw new ValueError('ERR_COLL_VALUE', `distributedOptimizer: ${message}`);
  }
  requireNumber(every, { name: 'every', from: 1 });
  requireNumber(warmUpSteps, { name: 'warmUpSteps', from: 0 });
  if (!(Number.isFinite(clipByGlobalNorm) && clipByGlobalNorm > 0)) {
    const message = `clipByGlobalNorm must be a positive number, got ${quote(clipByGlobalNorm)}`;
    throw new ValueError('ERR_COLL_VALUE', `distributedOptimizer: ${message}`);
  }
  if (typeof scaleLearningRate !== 'boolean') {
    const message = `scaleLearningRate must be true or false, got ${quote(scaleLearningRate)}`;
    throw new ValueError('ERR_COLL_VALUE', `distributedOptimizer: ${message}`);
  }
  return given;
}

/** @throws ValueError unless `value` is a whole number from `from` on */
function requireNumber(value: unknown, { name, from }: { readonly name: string; readonly from: number }): void {
  if (Number.isSafeInteger(value) && (value as number) >= from) return;
  const message = `${name} must be a whole number from ${from}, got ${quote(value)}`;
  throw new ValueError('ERR_COLL_VALUE', `distributedOptimizer: ${message}`);
}

/** How the learning rate of steps differs from that of the optimizer; undefined if it does not. */
function learningRateOf(
  optimizer: TfOptimizer,
  { warmUpSteps = 0, scaleLearningRate = false }: DistributedOptimizerOptions,
  { numReplicasInSync }: ReplicaContext,
): LearningRate | undefined {
  const scale = scaleLearningRate ? numReplicasInSync : 1;
  return warmUpSteps > 0 || scaleLearningRate ? new LearningRate(optimizer, { warmUpSteps, scale }) : undefined;
}

function requireOptimizer(optimizer: unknown): void {
  const { computeGradients, applyGradients } = Object(optimizer) as Partial<TfOptimizer>;
  if (typeof computeGradients === 'function' && typeof applyGradients === 'function') return;
  const advice =
    typeof optimizer === 'string' ? `pass tf.train.${optimizer}(0.01)` : 'pass for example tf.train.adam(0.01)';
  const message = `distributedOptimizer: optimizer must be an optimizer of TensorFlow.js, got ${quote(optimizer)}; ${advice}`;
  throw new ValueError('ERR_COLL_VALUE', message);
}

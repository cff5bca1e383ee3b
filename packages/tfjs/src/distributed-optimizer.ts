import { ValueError } from '@coll/core';
import { optionsOf, quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import { broadcastVariables } from './broadcast-weights.js';
import { exchangeSync, type GradientOptions, gradientOptions } from './exchange.js';
import { gradientList, isList, tensorsOf } from './gradient-list.js';
import { GradientMean } from './gradient-mean.js';
import { memoryOf } from './gradient-memory.js';
import { noteTrained, watchPlainOptimizers } from './plain-optimizers.js';
import { requireContext } from './same-variables.js';
import {
  requireTensorFlow,
  type TensorFlow,
  type TfGradients,
  type TfOptimizer,
  type TfTensor,
  type TfVariable,
  trainableVariables,
} from './tensorflow.js';

/**
 * Makes an optimizer whose steps apply the mean of all replicas' gradients. A model that is
 * compiled with this optimizer trains data-parallel in `model.fit`. All other methods, such as
 * `dispose` and those for saving, are those of the given optimizer.
 *
 * Each replica calls this function in its own thread, and computes each step on its own share of
 * the batch. If all shares have the same size, the step equals that of the whole batch. Variables
 * are set to the values of replica 0 on first use: before the first forward pass in `fit`,
 * `minimize` and `computeGradients`. Gradients passed to `applyGradients` hold the means
 * afterwards, unless their memory has another owner. A missing gradient counts as zeros if another
 * replica has one; if no replica has one, the variable does not change. Losses and metrics are per
 * replica. If the model is compiled again with an optimizer that is not distributed, its first step
 * logs a warning.
 *
 * @throws ValueError unless `optimizer` is an optimizer object; in the first step
 * InvalidArgumentError, the same on all replicas, if their models differ
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
  options?: GradientOptions,
): Optimizer {
  requireTensorFlow(tf, 'distributedOptimizer');
  requireOptimizer(optimizer);
  requireContext(context, 'allReduceSync', 'distributedOptimizer');
  const given = optionsOf(options, '{ timeoutSeconds: 60 }', gradientOptions);
  if (context.numReplicasInSync === 1) return optimizer;
  const step = new DistributedStep(tf, optimizer, context, given);
  const replaced = {
    computeGradients: (f: () => TfTensor, variables?: TfVariable[]) => step.computeGradients(f, variables),
    applyGradients: (gradients: TfGradients) => step.applyGradients(gradients),
  };
  const distributed = new Proxy(optimizer, {
    get(target, key) {
      if (Object.hasOwn(replaced, key)) return replaced[key as keyof typeof replaced];
      const value = Reflect.get(target, key, target);
      // `minimize` must call the methods above. All other methods are bound to the optimizer,
      // because they may use its private fields.
      return typeof value === 'function' && key !== 'minimize' && key !== 'constructor' ? value.bind(target) : value;
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
  watchPlainOptimizers(tf, optimizer, distributed, context.replicaIdInSyncGroup);
  return distributed;
}

function requireOptimizer(optimizer: unknown): void {
  const { computeGradients, applyGradients } = Object(optimizer) as Partial<TfOptimizer>;
  if (typeof computeGradients === 'function' && typeof applyGradients === 'function') return;
  const cure =
    typeof optimizer === 'string' ? `pass tf.train.${optimizer}(0.01)` : 'pass for example tf.train.adam(0.01)';
  const told = `distributedOptimizer: optimizer must be an optimizer of TensorFlow.js, got ${quote(optimizer)}; ${cure}`;
  throw new ValueError('ERR_COLL_VALUE', told);
}

class DistributedStep {
  readonly #tf: TensorFlow;
  readonly #optimizer: TfOptimizer;
  readonly #context: ReplicaContext;
  readonly #options: GradientOptions;
  readonly #mean: GradientMean;
  /** Ids of the variables that have been set to the values of replica 0. */
  readonly #started = new Set<number>();

  constructor(tf: TensorFlow, optimizer: TfOptimizer, context: ReplicaContext, options: GradientOptions) {
    this.#tf = tf;
    this.#optimizer = optimizer;
    this.#context = context;
    this.#options = options;
    this.#mean = new GradientMean(context);
  }

  computeGradients(f: () => TfTensor, variables?: TfVariable[]): unknown {
    this.#start(variables ?? trainableVariables(this.#tf));
    return this.#optimizer.computeGradients(f, variables);
  }

  applyGradients(gradients: TfGradients): void {
    const { variables, gradients: own } = gradientList(this.#tf, gradients);
    this.#start(variables);
    const memory = memoryOf(this.#tf, variables, own);
    const means = tensorsOf(
      this.#tf,
      variables,
      exchangeSync(this.#mean.average(variables, memory), this.#context, this.#options),
    );
    // Optimizers identify their slots by position. The keys of a map may vary from step to step, so
    // positions come from a list that only grows.
    const positions = isList(gradients) ? [...variables.keys()] : this.#mean.known(variables);
    try {
      this.#optimizer.applyGradients(
        positions.map((index) => ({ name: (variables[index] as TfVariable).name, tensor: means[index] })),
      );
    } finally {
      means.forEach((mean, index) => {
        if (mean !== own[index]) mean?.dispose();
      });
    }
  }

  #start(variables: readonly TfVariable[]): void {
    const { timeoutSeconds } = this.#options;
    exchangeSync(this.#mean.compare(variables), this.#context, { timeoutSeconds });
    const added = variables.filter(({ id }) => !this.#started.has(id));
    broadcastVariables(this.#tf, added, this.#context, { root: 0, timeoutSeconds });
    for (const { id } of added) this.#started.add(id);
    noteTrained(added);
  }
}

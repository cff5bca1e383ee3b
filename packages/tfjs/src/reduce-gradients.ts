import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import {
  type AsyncReducer,
  type Exchange,
  exchange,
  exchangeSync,
  type GradientOptions,
  metered,
  type ReplicaInfo,
  requireContext,
  type SyncReducer,
  trainingMeterOf,
} from '@coll/strategy/internal';
import { type AgreedList, AgreedLists } from './agreed-lists.js';
import { gradientsByVariable, tensorsOf } from './gradient-list.js';
import { meanOverReplicas } from './gradient-mean.js';
import { type GradientMemory, lastingMemoryOf, memoryOf } from './gradient-memory.js';
import { noteDistributedStep, watchPlainOptimizers } from './plain-optimizers.js';
import { presentStepOf } from './present-step.js';
import { StepGuard } from './step-guard.js';
import {
  requireTensorFlow,
  requireVariables,
  type TensorFlow,
  type TfGradient,
  type TfTensor,
  type TfVariable,
  trainableVariables,
} from './tensorflow.js';
import { requireEvenShares } from './uneven-shares.js';

/** How gradients are averaged, and the variables that may have gradients. */
export interface ReduceGradientsOptions extends GradientOptions {
  /**
   * All variables that may have a gradient, in the same order on all replicas. Default: all
   * trainable variables of `tf`.
   */
  readonly variables?: readonly TfVariable[];
  /**
   * Samples that the gradients are the mean of, with which they are weighted. Default: the `size`
   * given to `onBatchBegin` of `distributedCallbacks`, else the same number on all replicas.
   */
  readonly samples?: number | undefined;
}

const reduceGradientsOptions = knownOptions<ReduceGradientsOptions>('reduceGradients', {
  bytesPerPack: true,
  timeoutSeconds: true,
  onAllReduce: true,
  variables: true,
  samples: true,
});

type NamedGradients<T> = Readonly<Record<string, T>>;

/** State on which the replicas have agreed. */
interface Agreed {
  readonly lists: AgreedLists;
  /** That of the present run, whose steps it counts. */
  guard: StepGuard;
}

// Kept as long as the context of the replica.
const agreed = new WeakMap<ReplicaInfo, Agreed>();

/**
 * The means over all replicas of the gradients that `tf.variableGrads` returns, under the same
 * names. A missing gradient counts as zeros if another replica has one. Takes ownership of the
 * tensors passed in: each is either disposed or reused for the result, which the caller disposes.
 * Variables do not change; call `broadcastWeights` before the first step to make them equal.
 * @throws InvalidArgumentError, the same on all replicas, if their variables differ; ValueError for
 * arguments of a wrong type
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { reduceGradients } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const weight = tf.scalar(3).variable();
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run(async (replica) => {
 *   const { grads } = tf.variableGrads(() => weight.square().asScalar(), [weight]);
 *   const means = await reduceGradients(tf, grads, replica);
 *   tf.train.sgd(0.5).applyGradients(means);
 * });
 * console.log(weight.dataSync()); // Float32Array(1) [ 0 ]
 * ```
 */
export async function reduceGradients<T extends TfTensor>(
  tf: TensorFlow,
  gradients: NamedGradients<T>,
  context: ReplicaInfo & AsyncReducer,
  options?: ReduceGradientsOptions,
): Promise<Record<string, T>> {
  const {
    variables: candidates,
    samples,
    ...given
  } = checkedOptions({ tf, gradients, context, options, method: 'allReduce' });
  if (context.numReplicasInSync === 1) return ofOneReplica(gradients, context, samples);
  watchPlainOptimizers(tf);
  const { timeoutSeconds } = given;
  const averaging = metered(given, context);
  const { lists, guard } = agreedOf(context);
  for (;;) {
    const list = await exchange(listOf(tf, gradients, lists, { candidates, samples }), context, { timeoutSeconds });
    const { own, newcomers } = sortedOut(tf, gradients, list);
    const memory = await lastingMemoryOf(list.variables, own);
    const step = { list, gradients: memory, samples, newcomers };
    const averaged = await exchange(meanOverReplicas(step, guard), context, averaging);
    if (averaged !== 'newcomers') return takeOver(tf, list.variables, own, averaged);
    await exchange(learn(tf, gradients, lists, samples), context, { timeoutSeconds });
  }
}

/**
 * Like `reduceGradients`, but blocks the thread. On the cpu and WASM backends, gradients are not
 * copied.
 * @throws the errors of `reduceGradients`
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { reduceGradientsSync } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const weight = tf.scalar(3).variable();
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run((replica) => {
 *   const { grads } = tf.variableGrads(() => weight.square().asScalar(), [weight]);
 *   tf.train.sgd(0.5).applyGradients(reduceGradientsSync(tf, grads, replica));
 * });
 * console.log(weight.dataSync()); // Float32Array(1) [ 0 ]
 * ```
 */
export function reduceGradientsSync<T extends TfTensor>(
  tf: TensorFlow,
  gradients: NamedGradients<T>,
  context: ReplicaInfo & SyncReducer,
  options?: ReduceGradientsOptions,
): Record<string, T> {
  const {
    variables: candidates,
    samples,
    ...given
  } = checkedOptions({
    tf,
    gradients,
    context,
    options,
    method: 'allReduceSync',
  });
  if (context.numReplicasInSync === 1) return ofOneReplica(gradients, context, samples);
  watchPlainOptimizers(tf);
  const { timeoutSeconds } = given;
  const averaging = metered(given, context);
  const { lists, guard } = agreedOf(context);
  for (;;) {
    const list = exchangeSync(listOf(tf, gradients, lists, { candidates, samples }), context, { timeoutSeconds });
    const { own, newcomers } = sortedOut(tf, gradients, list);
    const memory = memoryOf(tf, list.variables, own, true);
    const step = { list, gradients: memory, samples, newcomers };
    const averaged = exchangeSync(meanOverReplicas(step, guard), context, averaging);
    if (averaged !== 'newcomers') return takeOver(tf, list.variables, own, averaged);
    exchangeSync(learn(tf, gradients, lists, samples), context, { timeoutSeconds });
  }
}

/** The list to which the gradients belong: the variables that were given, or the open list. */
function* listOf(
  tf: TensorFlow,
  gradients: NamedGradients<TfTensor>,
  lists: AgreedLists,
  {
    candidates,
    samples,
  }: { readonly candidates: readonly TfVariable[] | undefined; readonly samples: number | undefined },
): Exchange<AgreedList> {
  const named = gradientsByVariable(tf, gradients);
  if (candidates) return yield* lists.given([...new Set([...candidates, ...named.keys()])], samples);
  if (!lists.open) yield* learn(tf, gradients, lists, samples);
  return lists.open as AgreedList;
}

/** Adds the variables that have a gradient on any replica to the open list. */
function* learn(
  tf: TensorFlow,
  gradients: NamedGradients<TfTensor>,
  lists: AgreedLists,
  samples: number | undefined,
): Exchange<void> {
  const withGradient = new Set(gradientsByVariable(tf, gradients).keys());
  yield* lists.learn([...new Set([...trainableVariables(tf), ...withGradient])], withGradient, samples);
}

/** The gradients of the list's variables, and how many others there are. */
function sortedOut<T extends TfTensor>(tf: TensorFlow, gradients: NamedGradients<T>, { variables }: AgreedList) {
  const named = gradientsByVariable(tf, gradients);
  const own = variables.map((variable) => named.get(variable));
  return { own, newcomers: named.size - own.filter((gradient) => gradient).length };
}

interface Call {
  readonly tf: unknown;
  readonly gradients: unknown;
  readonly context: unknown;
  readonly options: ReduceGradientsOptions | undefined;
  readonly method: 'allReduce' | 'allReduceSync';
}

/**
 * Checks the arguments of a call, and returns its options.
 * @throws ValueError for an invalid argument
 */
function checkedOptions({ tf, gradients, context, options, method }: Call): Partial<ReduceGradientsOptions> {
  const operation = method === 'allReduce' ? 'reduceGradients' : 'reduceGradientsSync';
  requireTensorFlow(tf, operation);
  requireContext(context, method, operation);
  if (typeof gradients !== 'object' || gradients === null) {
    const message = `gradients must be the result of tf.variableGrads, got ${quote(gradients)}`;
    throw new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`);
  }
  const given = optionsOf(options, '{ timeoutSeconds: 60 }', reduceGradientsOptions);
  if (given.variables !== undefined) requireVariables(given.variables, operation);
  const { numReplicasInSync: replicas } = context as ReplicaInfo;
  const samples = given.samples ?? presentStepOf(context as ReplicaInfo).logs?.size;
  if (samples === undefined && replicas > 1) requireEvenShares(context as ReplicaInfo);
  return { ...given, samples };
}

/** The gradients of a step of a single replica, which is counted only. */
function ofOneReplica<T extends TfTensor>(
  gradients: NamedGradients<T>,
  context: ReplicaInfo,
  samples: number | undefined,
): Record<string, T> {
  trainingMeterOf(context).note(0, samples);
  return { ...gradients };
}

function agreedOf(context: ReplicaInfo): Agreed {
  const isFirst = noteDistributedStep(context);
  const known = agreed.get(context) ?? { lists: new AgreedLists(context), guard: new StepGuard(context) };
  if (isFirst) known.guard = new StepGuard(context);
  agreed.set(context, known);
  return known;
}

function takeOver<T extends TfTensor>(
  tf: TensorFlow,
  variables: readonly TfVariable[],
  own: readonly TfGradient[],
  averaged: readonly (GradientMemory | undefined)[],
): Record<string, T> {
  const tensors = tensorsOf(tf, variables, averaged);
  own.forEach((gradient, index) => {
    if (gradient && gradient !== tensors[index]) gradient.dispose();
  });
  const named = variables
    .map(({ name }, index) => [name, tensors[index]] as const)
    .filter(([, tensor]) => tensor !== undefined);
  return Object.fromEntries(named) as Record<string, T>;
}

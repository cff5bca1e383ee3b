import { RuntimeError } from '@coll/core';
import { arrayOf, type NamedArray, tensorOf } from './named-arrays.js';
import { assignSettings, fieldVariablesOf, type ScalarSettings, settingsOf, stateOf } from './optimizer-state.js';
import type { TensorFlow, TfOptimizer, TfTensor } from './tensorflow.js';

/** Settings and state of an optimizer. */
export interface OptimizerSnapshot {
  /** The name of its class, such as `Adam`. */
  readonly name: string;
  /** Its scalar settings, such as `learningRate`. */
  readonly config: ScalarSettings;
  /** What `getWeights` returns. */
  readonly weights: readonly NamedArray[];
  /**
   * Variables that `getWeights` leaves out, such as the powers of Adam's `beta1`. `setWeights`
   * computes them from the number of steps, but rounds differently.
   */
  readonly fields: readonly NamedArray[];
}

interface NamedTensor {
  readonly name: string;
  readonly tensor: TfTensor;
}

/** The methods with which optimizers save and load their state. */
interface SavableOptimizer extends TfOptimizer {
  getWeights?(): Promise<NamedTensor[]>;
  setWeights?(weights: NamedTensor[]): Promise<void>;
}

/**
 * Copies settings and state of an optimizer.
 * @throws RuntimeError if the optimizer cannot save its state
 */
export async function snapshotOf(optimizer: TfOptimizer): Promise<OptimizerSnapshot> {
  const { name, config } = settingsOf(optimizer);
  const weights = await weightsOf(optimizer, name);
  const kept = new Set(stateOf(optimizer).map(({ variable }) => variable as TfTensor));
  const arrays: NamedArray[] = [];
  for (const { name, tensor } of weights) {
    arrays.push(await arrayOf(name, tensor));
    // The number of steps is a tensor of its own.
    if (!kept.has(tensor)) tensor.dispose();
  }
  const fields = await Promise.all(fieldVariablesOf(optimizer).map(({ name, variable }) => arrayOf(name, variable)));
  return { name, config, weights: arrays, fields };
}

async function weightsOf(optimizer: SavableOptimizer, name: string): Promise<NamedTensor[]> {
  try {
    if (optimizer.getWeights && optimizer.setWeights) return await optimizer.getWeights();
  } catch (cause) {
    throw unsavable(name, cause);
  }
  throw unsavable(name);
}

function unsavable(name: string, cause?: unknown): RuntimeError {
  const message = `the state of ${name} cannot be saved, because TensorFlow.js does not implement its getWeights`;
  return new RuntimeError('ERR_COLL_CHECKPOINT', `${message}; use another optimizer, for example tf.train.adam`, {
    cause,
  });
}

/**
 * Why the snapshot does not belong to this optimizer; undefined if it does. The learning rate may
 * differ.
 */
export function differenceFrom(
  optimizer: TfOptimizer | undefined,
  snapshot: OptimizerSnapshot | undefined,
): string | undefined {
  const own = textOf(optimizer && settingsOf(optimizer));
  const saved = textOf(snapshot);
  if (own === saved) return undefined;
  return `it was saved with ${saved}, but the training state has ${own}`;
}

function textOf(settings: Pick<OptimizerSnapshot, 'name' | 'config'> | undefined): string {
  if (!settings) return 'no optimizer';
  const { learningRate: _, ...others } = settings.config;
  return `the optimizer ${settings.name} ${JSON.stringify(others)}`;
}

/** Sets the learning rate and the state of an optimizer, whose class and other settings must be those of the snapshot. */
export async function restoreOptimizer(
  tf: TensorFlow,
  optimizer: SavableOptimizer,
  { config, weights, fields }: OptimizerSnapshot,
): Promise<void> {
  const before = stateOf(optimizer);
  const tensors = weights.map((array) => ({ name: array.name, tensor: tensorOf(tf, array) }));
  await optimizer.setWeights?.(tensors);
  for (const { tensor } of tensors) tensor.dispose();
  // `setWeights` creates variables of its own, and disposes of none.
  const after = new Set(stateOf(optimizer).map(({ variable }) => variable));
  for (const { variable } of before) if (!after.has(variable)) variable.dispose();
  for (const { name, variable } of fieldVariablesOf(optimizer)) {
    const saved = fields.find((field) => field.name === name);
    if (!saved) continue;
    const value = tensorOf(tf, saved);
    variable.assign(value);
    value.dispose();
  }
  const { learningRate } = config;
  if (learningRate !== undefined) assignSettings(optimizer, { learningRate });
}

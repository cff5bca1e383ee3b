import { ValueError } from '@coll/core';
import { knownOptions, quote, requireKnownOptions } from '@coll/core/internal';
import { requireModel } from './broadcast-weights.js';
import { type ArraySpec, arrayOf, type NamedArray, tensorOf } from './named-arrays.js';
import { differenceFrom, type OptimizerSnapshot, restoreOptimizer, snapshotOf } from './optimizer-snapshot.js';
import { isPlainObject } from './tables.js';
import {
  requireTensorFlow,
  type TensorFlow,
  type TfLayersModel,
  type TfOptimizer,
  type TfVariable,
} from './tensorflow.js';

/** What belongs to a training, and how far it has come. */
export interface TrainingStateOptions<Data = unknown> {
  /** The model. All its weights belong to the state, including those that are not trained. */
  readonly model: TfLayersModel;
  /**
   * The optimizer. Its learning rate and its variables, such as moments, belong to the state.
   * Default: the optimizer that the model was compiled with; none if it is not compiled.
   */
  readonly optimizer?: TfOptimizer | undefined;
  /** The number of epochs that are complete. Default: 0. */
  readonly epoch?: number | undefined;
  /** The number of steps that are done, over all epochs. Default: 0. */
  readonly step?: number | undefined;
  /** A JSON value of the program, such as seeds or the position in the data. Default: undefined. */
  readonly data?: Data | undefined;
}

const names = knownOptions<TrainingStateOptions>('trainingState', {
  model: true,
  optimizer: true,
  epoch: true,
  step: true,
  data: true,
});

/**
 * The state of a training. The program, or a callback, counts `epoch` and `step` and sets `data`.
 */
export interface TrainingState<Data = unknown> {
  readonly tf: TensorFlow;
  readonly model: TfLayersModel;
  /** The optimizer; undefined if there is none, as long as the model is not compiled. */
  readonly optimizer: TfOptimizer | undefined;
  /** The number of epochs that are complete. */
  epoch: number;
  /** The number of steps that are done, over all epochs. */
  step: number;
  /** A JSON value of the program. */
  data: Data;
}

/**
 * Makes the state of a training: a model, its optimizer, and how far the training has come. A
 * checkpoint saves this state, and restores it into the same objects.
 * @throws ValueError unless `tf` is TensorFlow.js, and the options are valid
 *
 * @example
 * ```ts
 * import { trainingState } from '@coll/tfjs';
 * import * as tf from '@tensorflow/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'adam', loss: 'meanSquaredError' });
 * const state = trainingState(tf, { model, data: { seed: 7 } });
 * console.log(state.epoch, state.step, state.data.seed); // 0 0 7
 * ```
 */
export function trainingState<Data = undefined>(
  tf: TensorFlow,
  options: TrainingStateOptions<Data>,
): TrainingState<Data> {
  requireTensorFlow(tf, 'trainingState');
  if (typeof options !== 'object' || options === null)
    throw invalid(`options must be an object, for example { model }, got ${quote(options)}`);
  requireKnownOptions(options, names);
  const { model, optimizer, epoch = 0, step = 0, data } = options;
  requireModel(model, 'trainingState: model');
  if (typeof model.save !== 'function') throw invalid(`model must have the method save, got ${quote(model)}`);
  if (optimizer !== undefined && typeof Object(optimizer).applyGradients !== 'function')
    throw invalid(`optimizer must be an optimizer of TensorFlow.js, got ${quote(optimizer)}`);
  const state = new State<Data>(tf, model, optimizer, { epoch, step, data: data as Data });
  requireCounters(state, 'trainingState');
  return state;
}

class State<Data> implements TrainingState<Data> {
  readonly tf: TensorFlow;
  readonly model: TfLayersModel;
  readonly #optimizer: TfOptimizer | undefined;
  epoch: number;
  step: number;
  data: Data;

  constructor(
    tf: TensorFlow,
    model: TfLayersModel,
    optimizer: TfOptimizer | undefined,
    { epoch, step, data }: Progress<Data>,
  ) {
    this.tf = tf;
    this.model = model;
    this.#optimizer = optimizer;
    this.epoch = epoch;
    this.step = step;
    this.data = data;
  }

  get optimizer(): TfOptimizer | undefined {
    return this.#optimizer ?? this.model.optimizer;
  }
}

/** How far a training has come. */
export interface Progress<Data = unknown> {
  /** The number of epochs that are complete. */
  readonly epoch: number;
  /** The number of steps that are done, over all epochs. */
  readonly step: number;
  /** The JSON value of the program. */
  readonly data: Data;
}

/** A copy of a training's state, outside of TensorFlow.js. */
export interface StateSnapshot extends Progress {
  /** All weights of the model, in its order. */
  readonly weights: readonly NamedArray[];
  /** For each weight, whether it is trained. */
  readonly trained: readonly boolean[];
  readonly optimizer: OptimizerSnapshot | undefined;
}

/** @throws ValueError unless `state` was made by `trainingState` and its counters and data are valid */
export function requireState(state: unknown, operation: string): asserts state is TrainingState {
  if (!(state instanceof State))
    throw invalid(`state must be what trainingState returned, got ${quote(state)}`, operation);
  requireCounters(state, operation);
}

function requireCounters({ epoch, step, data }: Progress, operation: string): void {
  for (const [name, value] of Object.entries({ epoch, step })) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw invalid(`${name} must be a whole number from 0, got ${quote(value)}`, operation);
  }
  if (data !== undefined && !isJson(data))
    throw invalid(
      `data must consist of plain objects, lists, texts, finite numbers and booleans, got ${quote(data)}`,
      operation,
    );
}

// JSON.stringify would change anything else in silence, such as NaN or a typed array.
function isJson(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth > 100) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  return isPlainObject(value) && Object.values(value).every((item) => item === undefined || isJson(item, depth + 1));
}

function invalid(message: string, operation = 'trainingState'): ValueError {
  return new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`);
}

/** A weight of a model by its name in saved models. */
interface NamedWeight {
  readonly name: string;
  readonly variable: TfVariable;
}

/** All weights of a model, in its order: those that are trained, then the others. */
function weightsOf(model: TfLayersModel): NamedWeight[] {
  return model.weights.map((weight) => {
    const variable = weight.read() as TfVariable;
    const { originalName = variable.name } = weight as { readonly originalName?: string };
    return { name: originalName, variable };
  });
}

function isTrained({ trainable }: TfVariable): boolean {
  // A model that is not one of TensorFlow.js may not say it.
  return trainable !== false;
}

/** All weights of a model as variables, in its order. */
export function variablesOf(model: TfLayersModel): TfVariable[] {
  return weightsOf(model).map(({ variable }) => variable);
}

/**
 * The weights of a model in the order of the saved ones. The order of a model changes if layers are
 * frozen, and names change if a program creates several models: names count if all are the same.
 */
function inOrderOf(saved: readonly ArraySpec[], model: TfLayersModel): TfVariable[] {
  const own = weightsOf(model);
  const byName = new Map(own.map(({ name, variable }) => [name, variable]));
  const named = new Set(saved.flatMap(({ name }) => byName.get(name) ?? []));
  return named.size === own.length ? [...named] : own.map(({ variable }) => variable);
}

/**
 * Copies the state of a training.
 * @throws RuntimeError if the optimizer cannot save its state
 */
export async function collectState({ model, optimizer, epoch, step, data }: TrainingState): Promise<StateSnapshot> {
  const own = weightsOf(model);
  const weights = await Promise.all(own.map(({ name, variable }) => arrayOf(name, variable)));
  const trained = own.map(({ variable }) => isTrained(variable));
  const copied = data === undefined ? undefined : JSON.parse(JSON.stringify(data));
  return { epoch, step, data: copied, weights, trained, optimizer: optimizer && (await snapshotOf(optimizer)) };
}

/** Why a snapshot does not fit the model and the optimizer of a state; undefined if it does. */
export function misfitOf({ model, optimizer }: TrainingState, snapshot: StateSnapshot): string | undefined {
  const { weights: saved, trained } = snapshot;
  const own = inOrderOf(saved, model);
  if (saved.length !== own.length) return `it has ${saved.length} weights, but the model has ${own.length}`;
  const formOf = ({ dtype, shape }: { dtype: string; shape: readonly number[] }) => `${dtype} [${shape}]`;
  for (const [index, variable] of own.entries()) {
    const array = saved[index] as NamedArray;
    const what = `weight ${index}, "${array.name}",`;
    if (formOf(array) !== formOf(variable))
      return `${what} is ${formOf(array)}, but "${variable.name}" of the model is ${formOf(variable)}`;
    // The optimizer identifies its variables by the position of the weight among those that are trained.
    const isFrozen = !isTrained(variable);
    if (optimizer && trained[index] === isFrozen)
      return `${what} was ${isFrozen ? 'trained' : 'frozen'}, but is ${isFrozen ? 'frozen' : 'trained'} in the model`;
  }
  return differenceFrom(optimizer, snapshot.optimizer);
}

/** Sets a state to a snapshot, which must fit. */
export async function restoreState(state: TrainingState, snapshot: StateSnapshot): Promise<void> {
  restoreWeights(state, snapshot.weights);
  if (state.optimizer && snapshot.optimizer) await restoreOptimizer(state.tf, state.optimizer, snapshot.optimizer);
  state.epoch = snapshot.epoch;
  state.step = snapshot.step;
  state.data = snapshot.data;
  restored.add(state);
}

const restored = new WeakSet<TrainingState>();

/** Whether a state has been set to a snapshot. */
export function wasRestored(state: TrainingState): boolean {
  return restored.has(state);
}

/** Sets the weights of the model, which must have these dtypes and shapes. */
export function restoreWeights({ tf, model }: TrainingState, weights: readonly NamedArray[]): void {
  for (const [index, variable] of inOrderOf(weights, model).entries()) {
    const value = tensorOf(tf, weights[index] as NamedArray);
    variable.assign(value);
    value.dispose();
  }
}

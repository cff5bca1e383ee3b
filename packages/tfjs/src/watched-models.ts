import { type Inputs, onFirstRows } from './first-rows.js';
import { type FitArguments, type FitCall, ownRowsOfBatch, type PaddedFit } from './fit-call.js';
import type { BatchLogs } from './present-step.js';
import type { TensorFlow, TfModel, TfTensor, TfVariable } from './tensorflow.js';

/** The methods of a Layers model that tell an optimizer which model it trains, and on which data. */
interface LayersModel extends TfModel {
  readonly optimizer?: object;
  readonly trainableWeights: TfModel['weights'];
  /** The names of the loss and metrics, which are the results of a training step. */
  readonly metricsNames: readonly string[];
  /** Whether `fit` or `fitDataset` is under way. */
  readonly isTraining: boolean;
  testFunction: TrainFunction;
  compile(args: { readonly optimizer?: unknown }): void;
  fit(x: unknown, y: unknown, args?: FitArguments): Promise<unknown>;
  fitLoop(...args: unknown[]): Promise<unknown>;
  makeTrainFunction(): TrainFunction;
  makeTestFunction(): void;
}

type TrainFunction = (data: Inputs) => TfTensor[];

/** What a distributed optimizer learns about the models that it trains. */
export interface ModelListener {
  /** The optimizer was given to `compile` of this model, or trains it. */
  addModel(model: TfModel): void;
  /** Checks a call of `fit` before its first step. */
  checkFit(call: FitCall): PaddedFit | undefined;
  /** How many rows of a batch of `trainOnBatch` are the replica's own. */
  ownRowsOf(rows: number): number;
  /** Takes a training step on a part of a batch with so many samples. */
  withSamples<Result>(samples: number, step: () => Result): Result;
  /** Takes part in a training step with an empty part of a batch. */
  stepWithoutSamples(variables: TfVariable[]): void;
}

const listeners = new WeakMap<object, ModelListener>();
const watched = new WeakSet<object>();
/** Calls of `fit` that are under way. */
const paddedFits = new WeakMap<LayersModel, PaddedFit>();

/**
 * Tells the listener about the models of this TensorFlow.js that train with this optimizer, and
 * keeps empty parts of batches and repeated rows from their losses. Patches methods of all Layers
 * models, as `fit` gives an optimizer nothing but a loss function.
 */
export function watchModels(tf: TensorFlow, optimizer: object, listener: ModelListener): void {
  listeners.set(optimizer, listener);
  const prototype = tf.LayersModel?.prototype as LayersModel | undefined;
  if (!prototype || watched.has(prototype)) return;
  watched.add(prototype);
  const { compile, fit, fitLoop, makeTrainFunction, makeTestFunction } = prototype;
  prototype.compile = function (this: LayersModel, args) {
    compile.call(this, args);
    listeners.get(Object(args.optimizer))?.addModel(this);
  };
  if (typeof makeTrainFunction !== 'function') return;
  prototype.fit = async function (this: LayersModel, x, y, args = {}) {
    const padded = listeners.get(Object(this.optimizer))?.checkFit({ x, y, args });
    if (!padded) return fit.call(this, x, y, args);
    paddedFits.set(this, padded);
    try {
      return await fit.call(this, x, y, args);
    } finally {
      paddedFits.delete(this);
    }
  };
  prototype.fitLoop = function (this: LayersModel, ...args) {
    const padded = paddedFits.get(this);
    if (padded) args[callbacksOfFitLoop] = [callbackOf(padded), ...(args[callbacksOfFitLoop] as unknown[])];
    return fitLoop.apply(this, args);
  };
  prototype.makeTrainFunction = function (this: LayersModel) {
    const train = makeTrainFunction.call(this);
    return (data) => {
      const listening = listeners.get(Object(this.optimizer));
      const rows = data[0]?.shape[0];
      if (!listening || rows === undefined) return train(data);
      listening.addModel(this);
      const padded = paddedFits.get(this);
      const own = padded ? ownRowsOfBatch(padded, rows) : this.isTraining ? rows : listening.ownRowsOf(rows);
      if (own > 0) return listening.withSamples(own, () => onFirstRows(tf, data, own, train));
      listening.stepWithoutSamples(this.trainableWeights.map((weight) => weight.read() as TfVariable));
      return zeros(tf, this);
    };
  };
  prototype.makeTestFunction = function (this: LayersModel) {
    makeTestFunction.call(this);
    const test = this.testFunction;
    if (!listeners.has(Object(this.optimizer))) return;
    this.testFunction = (data) => (data[0]?.shape[0] === 0 ? zeros(tf, this) : test(data));
  };
}

/** The position of the callbacks in the arguments of `fitLoop`. */
const callbacksOfFitLoop = 6;

/** A callback that keeps what the callbacks of the present step get. */
function callbackOf(padded: PaddedFit): object {
  const nothing = async () => {};
  const onBatchBegin = async (_batch: number, logs: BatchLogs) => {
    padded.logs = logs;
  };
  return {
    ...{ setParams: nothing, setModel: nothing, onTrainBegin: nothing, onTrainEnd: nothing },
    ...{ onEpochBegin: nothing, onEpochEnd: nothing, onBatchBegin, onBatchEnd: nothing },
  };
}

/** Losses and metrics of no samples. */
function zeros(tf: TensorFlow, { metricsNames }: LayersModel): TfTensor[] {
  return metricsNames.map(() => tf.tensor(new Float32Array(1), [], 'float32'));
}

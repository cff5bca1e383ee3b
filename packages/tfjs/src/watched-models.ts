import type { TensorFlow, TfModel, TfTensor, TfVariable } from './tensorflow.js';

/** The methods of a Layers model that tell an optimizer which model it trains. */
interface LayersModel extends TfModel {
  readonly optimizer?: object;
  readonly trainableWeights: TfModel['weights'];
  /** The names of the loss and metrics, which are the results of a training step. */
  readonly metricsNames: readonly string[];
  compile(args: { readonly optimizer?: unknown }): void;
  makeTrainFunction(): (data: TfTensor[]) => TfTensor[];
}

/** What a distributed optimizer learns about the models that it trains. */
export interface ModelListener {
  /** The optimizer was given to `compile` of this model, or trains it. */
  addModel(model: TfModel): void;
  /** Takes a training step on a part of a batch with so many samples. */
  withSamples<Result>(samples: number, step: () => Result): Result;
  /** Takes part in a training step with an empty part of a batch. */
  stepWithoutSamples(variables: TfVariable[]): void;
}

const listeners = new WeakMap<object, ModelListener>();
const watched = new WeakSet<object>();

/**
 * Tells the listener about the models of this TensorFlow.js that train with this optimizer, and
 * keeps empty parts of batches from their losses. Patches two methods of all Layers models, as `fit`
 * gives an optimizer nothing but a loss function.
 */
export function watchModels(tf: TensorFlow, optimizer: object, listener: ModelListener): void {
  listeners.set(optimizer, listener);
  const prototype = tf.LayersModel?.prototype as LayersModel | undefined;
  if (!prototype || watched.has(prototype)) return;
  watched.add(prototype);
  const { compile, makeTrainFunction } = prototype;
  prototype.compile = function (this: LayersModel, args) {
    compile.call(this, args);
    listeners.get(Object(args.optimizer))?.addModel(this);
  };
  if (typeof makeTrainFunction !== 'function') return;
  prototype.makeTrainFunction = function (this: LayersModel) {
    const train = makeTrainFunction.call(this);
    return (data) => {
      const listening = listeners.get(Object(this.optimizer));
      const samples = data[0]?.shape[0];
      if (!listening || samples === undefined) return train(data);
      listening.addModel(this);
      if (samples > 0) return listening.withSamples(samples, () => train(data));
      listening.stepWithoutSamples(this.trainableWeights.map((weight) => weight.read() as TfVariable));
      return this.metricsNames.map(() => tf.tensor(new Float32Array(1), [], 'float32'));
    };
  };
}

import type { TensorFlow } from './tensorflow.js';

/** The methods by which `fit` and `fitDataset` validate. */
interface Validating {
  testLoop(...args: unknown[]): unknown;
  evaluateDataset(...args: unknown[]): unknown;
}

// Kept as long as the model.
const preparations = new WeakMap<object, () => void>();
const watched = new WeakSet<object>();

/**
 * Calls a function before each validation or evaluation of a model. Patches two methods of all Layers
 * models, as `fit` calls no callback between its last step and the validation.
 */
export function beforeValidation(tf: TensorFlow, model: object, prepare: () => void): void {
  preparations.set(model, prepare);
  const prototype = tf.LayersModel?.prototype as Validating | undefined;
  if (!prototype || watched.has(prototype)) return;
  watched.add(prototype);
  for (const name of ['testLoop', 'evaluateDataset'] as const) {
    const method = prototype[name];
    if (typeof method !== 'function') continue;
    prototype[name] = function (this: Validating, ...args) {
      preparations.get(this)?.();
      return method.apply(this, args);
    };
  }
}

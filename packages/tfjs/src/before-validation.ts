import { ValueError } from '@coll/core';
import { type Inputs, onFirstRows } from './first-rows.js';
import type { TensorFlow } from './tensorflow.js';

/** The methods by which `fit` and `fitDataset` validate. */
interface Validating {
  testLoop(test: unknown, inputs: Inputs, ...others: unknown[]): unknown;
  evaluateDataset(...args: unknown[]): unknown;
}

/** Returns how many rows to validate on, the first ones. Undefined: all. */
type Preparation = () => number | undefined;

// Kept as long as the model.
const preparations = new WeakMap<object, Preparation>();
const watched = new WeakSet<object>();

/**
 * Calls a function before each validation or evaluation of a model. Patches two methods of all Layers
 * models, as `fit` calls no callback between its last step and the validation.
 */
export function beforeValidation(tf: TensorFlow, model: object, prepare: Preparation): void {
  preparations.set(model, prepare);
  const prototype = tf.LayersModel?.prototype as Validating | undefined;
  if (!prototype || watched.has(prototype)) return;
  watched.add(prototype);
  const { testLoop, evaluateDataset } = prototype;
  if (typeof testLoop !== 'function' || typeof evaluateDataset !== 'function') return;
  prototype.testLoop = function (test, inputs, ...others) {
    const rows = preparations.get(this)?.();
    const given = inputs[0]?.shape[0] ?? 0;
    if (rows !== undefined && rows > given) throw tooMany(rows, given);
    // TensorFlow.js cannot validate on no rows; the result then has no weight.
    const wanted = Math.min(given, Math.max(1, rows ?? given));
    return onFirstRows(tf, inputs, wanted, (first) => testLoop.call(this, test, first, ...others));
  };
  prototype.evaluateDataset = function (...args) {
    preparations.get(this)?.();
    return evaluateDataset.apply(this, args);
  };
}

function tooMany(rows: number, given: number): ValueError {
  const message = `validationRows must be at most ${given}, the rows that this replica validates on, got ${rows}`;
  const advice =
    'for a share xs and a validationSplit of s, it is rowsOf(xs) - Math.floor(xs.shape[0] * (1 - s)), but at least 0';
  return new ValueError('ERR_COLL_VALUE', `distributedCallbacks: ${message}; ${advice}`, { operation: 'fit' });
}

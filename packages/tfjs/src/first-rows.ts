import type { TensorFlow, TfTensor } from './tensorflow.js';

/** The inputs of a train or test function of a Layers model. The last one of `fit` is null. */
export type Inputs = (TfTensor | null)[];

interface Slicing {
  /** The part of a tensor that begins at an index of the first axis. */
  slice(x: TfTensor, begin: number, size: number): TfTensor;
}

/** Calls a function with the first rows of inputs. */
export function onFirstRows<Result>(
  tf: TensorFlow,
  inputs: Inputs,
  rows: number,
  use: (first: Inputs) => Result,
): Result {
  if (inputs[0]?.shape[0] === rows) return use(inputs);
  const { slice } = tf as unknown as Slicing;
  const first = inputs.map((input) => input && slice(input, 0, rows));
  try {
    return use(first);
  } finally {
    for (const input of first) input?.dispose();
  }
}

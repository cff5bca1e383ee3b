import { weightedSum } from '@coll/strategy/internal';
import { viewOf } from './tensor-memory.js';
import type { TensorFlow, TfVariable } from './tensorflow.js';

/** The sum of a float32 variable's elements; undefined if they are not in the CPU's memory. */
export function sumOf(tf: TensorFlow, variable: TfVariable): number | undefined {
  const values = variable.dtype === 'float32' ? viewOf(tf, variable) : undefined;
  return values && weightedSum(values);
}

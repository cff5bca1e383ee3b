import { collectiveOp, outputDType } from '../collectives/collective.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { combine } from '../kernels/arithmetic.js';
import { deduplicate } from '../sparse/deduplicate.js';
import { copyToDevice, divideByN } from '../sparse/sparse.js';
import { IndexedSlices, type Value } from '../values/indexed-slices.js';
import type { Batch, ValueLists } from './batch.js';

/** The results of a collective with a single replica: the replica's values, reduced or copied. */
export function aloneResults({ request, inputs }: Batch, isUnique?: boolean): ValueLists {
  const resultOf = (value: Value) =>
    request.kind === 'all-reduce' ? reducedAlone(request.op, value, isUnique) : copyToDevice(value, value.device);
  return inputs.map((values) => values.map(resultOf));
}

/**
 * All-reduces one replica's value. The result has memory of its own, and the dtype that a result of
 * several replicas would have.
 */
function reducedAlone(op: ReduceOp, value: Value, isUnique = false): Value {
  if (value instanceof IndexedSlices) {
    const unique = isUnique ? deduplicate(value) : value;
    return op === ReduceOp.MEAN ? divideByN(unique, 1) : copyToDevice(unique, value.device);
  }
  const name = collectiveOp(op);
  const isCopy = outputDType({ kind: 'all-reduce', op: name }, value.dtype) === value.dtype;
  // Device memory is copied by its owner.
  return value.memory && isCopy ? copyToDevice(value, value.device) : combine(name, [value]);
}

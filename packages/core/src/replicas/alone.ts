import { collectiveOp, outputDType } from '../collectives/collective.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { combine } from '../kernels/arithmetic.js';
import { deduplicate } from '../sparse/deduplicate.js';
import { IndexedSlices } from '../sparse/indexed-slices.js';
import { copyToDevice, divideByN, type Value } from '../sparse/sparse.js';
import type { Batch, ValueLists } from './batch.js';

/** The result for a single replica: its values combined with no others, or copied. */
export function performedAlone({ request, inputs }: Batch, isUnique?: boolean): ValueLists {
  const resultOf = (value: Value) =>
    request.kind === 'all-reduce' ? reducedAlone(request.op, value, isUnique) : copyToDevice(value, value.device);
  return inputs.map((values) => values.map(resultOf));
}

/**
 * The all-reduce of one replica's value: new memory, of the dtype that a result with more replicas
 * would have.
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

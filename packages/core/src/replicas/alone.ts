import { collectiveOp, outputDType } from '../collectives/collective.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { combine } from '../kernels/arithmetic.js';
import { deduplicate } from '../sparse/deduplicate.js';
import { IndexedSlices } from '../sparse/indexed-slices.js';
import { copyToDevice, divideByN, type Value } from '../sparse/sparse.js';
import type { Batch, ValueLists } from './batch.js';

/** What one replica's values become: combined with no others, or copied. */
export function performedAlone({ request, inputs }: Batch, isUnique?: boolean): ValueLists {
  const resultOf = (value: Value) =>
    request.kind === 'all-reduce' ? reducedAlone(request.op, value, isUnique) : copyToDevice(value, value.device);
  return inputs.map((values) => values.map(resultOf));
}

/** The all-reduce of one replica's value: new memory, of the dtype that the result has with more replicas. */
function reducedAlone(op: ReduceOp, value: Value, isUnique = false): Value {
  if (value instanceof IndexedSlices) {
    const unique = isUnique ? deduplicate(value) : value;
    return op === ReduceOp.MEAN ? divideByN(unique, 1) : copyToDevice(unique, value.device);
  }
  const name = collectiveOp(op);
  const isCopy = outputDType({ kind: 'all-reduce', op: name }, value.dtype) === value.dtype;
  // Memory that JavaScript does not see is copied by whoever does.
  return value.memory && isCopy ? copyToDevice(value, value.device) : combine(name, [value]);
}

import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { requireList } from '../support/requirements.js';
import { isTensor, type Tensor, validateTensor } from './tensor.js';

/** @throws ValueError unless `values` is an array of tensors; `what` names the values in the message */
export function requireTensors(values: unknown, what: string): asserts values is readonly Tensor[] {
  requireList(values, what);
  // Unlike `forEach`, `entries` does not skip holes.
  for (const [index, value] of values.entries()) {
    if (!isTensor(value))
      throw new ValueError('ERR_COLL_VALUE', `${what}[${index}] must be a tensor, got ${quote(value)}`);
    validateTensor(value);
  }
}

/** @throws ValueError unless `value` has a list of tensors per device; `what` names the value in the message */
export function requireTensorLists(values: unknown, what: string): asserts values is readonly (readonly Tensor[])[] {
  requireList(values, what);
  for (const [index, tensors] of values.entries()) requireTensors(tensors, `${what}[${index}]`);
}

import type { Communicator } from '../collectives/communicator.js';
import { isTensor, type Tensor, validateTensor } from '../values/tensor.js';
import { ValueError } from './errors.js';
import { quote } from './quote.js';

/** @throws ValueError unless `value` is an array; `what` names the value in the message */
export function requireList(value: unknown, what: string): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw new ValueError('ERR_COLL_VALUE', `${what} must be a list, got ${quote(value)}`);
}

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

/** @throws ValueError unless `value` is a communicator; `what` names the value in the message */
export function requireCommunicator(value: unknown, what: string): asserts value is Communicator {
  const { size, localRanks, refuses, run } = Object(value) as Partial<Communicator>;
  const isWhole = Number.isInteger(size) && typeof refuses === 'function' && typeof run === 'function';
  if (isWhole && Array.isArray(localRanks)) return;
  throw new ValueError('ERR_COLL_VALUE', `${what} must be a communicator, got ${quote(value)}`);
}

/** @throws ValueError unless `value` is a function; `what` names the value in the message */
export function requireFunction(value: unknown, what: string): asserts value is (...args: never[]) => unknown {
  if (typeof value !== 'function')
    throw new ValueError('ERR_COLL_VALUE', `${what} must be a function, got ${quote(value)}`);
}

/** @throws ValueError unless `value` is a constructor; `what` names the value in the message */
export function requireClass(value: unknown, what: string): void {
  try {
    Reflect.construct(Object, [], value as new () => unknown);
  } catch {
    throw new ValueError('ERR_COLL_VALUE', `${what} must be a class, got ${quote(value)}`);
  }
}

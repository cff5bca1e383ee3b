import { type DType, type Tensor, tensor, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { byteSize, isFloating } from '@coll/core/plugin';

/**
 * A tensor of a number or a list of numbers. `what` names the value in errors, such as `assign of
 * variable "steps"`.
 * @throws ValueError for a number that an integer dtype cannot represent
 */
export function fromPlainNumbers(numbers: number | readonly number[], dtype: DType, what: string): Tensor {
  if (!isFloating(dtype) && dtype !== 'bool') {
    const bits = BigInt(8 * byteSize(dtype));
    const [least, limit] = dtype.startsWith('u') ? [0n, 2n ** bits] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n)];
    // Values of other types, such as bigint, are refused by `tensor`.
    const isOdd = (number: unknown) =>
      typeof number === 'number' && !(Number.isInteger(number) && number >= least && number < limit);
    const list = typeof numbers === 'number' ? [numbers] : numbers;
    const odd = list.findIndex(isOdd);
    if (odd >= 0) {
      const message = `${what}: ${dtype} values must be integers from ${least} to ${limit - 1n}, got ${quote(list[odd])}`;
      throw new ValueError('ERR_COLL_VALUE', message);
    }
  }
  return tensor(numbers as readonly number[], { dtype });
}

import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { type DType, isDType, type TypedArray } from './dtype.js';
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from './half.js';

/** The stored element for a number: bits for 16-bit floats, a bigint for 64-bit integers. */
export function encodeNumber(value: number, dtype: DType): number | bigint {
  if (dtype === 'float16') return toFloat16(value);
  if (dtype === 'bfloat16') return toBfloat16(value);
  // Converted as typed arrays of narrower integers do: truncated, and 0 for a number that is not
  // finite.
  if (dtype === 'int64' || dtype === 'uint64') return BigInt(Number.isFinite(value) ? Math.trunc(value) : 0);
  return dtype === 'bool' ? Number(value !== 0) : value;
}

/** The number that a stored element represents; 64-bit integers beyond 2^53 are rounded. */
export function decodeNumber(data: TypedArray, index: number, dtype: DType): number {
  const element = data[index] as number | bigint;
  if (dtype === 'float16') return fromFloat16(Number(element));
  if (dtype === 'bfloat16') return fromBfloat16(Number(element));
  return Number(element);
}

/**
 * All elements as numbers. 64-bit integers beyond 2^53 are rounded. Meant for display, checks and
 * small results; too slow for large tensors.
 * @throws ValueError unless `tensor` is a tensor
 *
 * @example
 * ```ts
 * import { tensor, toNumbers } from '@coll/core';
 *
 * console.log(toNumbers(tensor(new BigInt64Array([1n, 2n])))); // [ 1, 2 ]
 * console.log(toNumbers(tensor([0.5, 1], { dtype: 'bfloat16' }))); // [ 0.5, 1 ]
 * ```
 */
export function toNumbers(tensor: { readonly data: TypedArray; readonly dtype: DType }): number[] {
  const { data, dtype } = Object(tensor) as Partial<typeof tensor>;
  if (!ArrayBuffer.isView(data) || !isDType(dtype))
    throw new ValueError('ERR_COLL_VALUE', `toNumbers: the argument must be a tensor, got ${quote(tensor)}`);
  return Array.from({ length: (data as TypedArray).length }, (_, index) => decodeNumber(data, index, dtype));
}

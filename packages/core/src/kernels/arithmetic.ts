import {
  accumulatorOf,
  type CollectiveOp,
  collectiveOps,
  refusedArithmetic,
  unknownOp,
} from '../collectives/collective.js';
import { rankError } from '../collectives/failures.js';
import { InternalError, InvalidArgumentError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { allocate, allocateUnset, byteSize, type DType, isHalf, quotientOf, type TypedArray } from '../values/dtype.js';
import { sameShape, type Tensor } from '../values/tensor.js';
import { requireTensors } from '../values/tensor-lists.js';
import { divideKernel, nextKernel, pairKernel } from './combine.js';
import { narrowKernel, widenKernel } from './convert.js';

/**
 * Combines all tensors from left to right, in new memory on the device of the first one. 16-bit
 * floats accumulate in float32 and are rounded once, after the division of a mean. Integers of
 * which the mean is computed accumulate in the dtype of the mean.
 * @throws InvalidArgumentError for different shapes, InternalError for different dtypes, ValueError
 * for an unknown op, the mean of bool, an empty list, and anything but a list of tensors
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { combine } from '@coll/core/plugin';
 *
 * const mean = combine('mean', [tensor(new Int32Array([1, 2])), tensor(new Int32Array([2, 4]))]);
 * console.log(mean.data); // Float64Array(2) [ 1.5, 3 ]
 * ```
 */
export function combine(op: CollectiveOp, tensors: readonly Tensor[]): Tensor {
  requireTensors(tensors, 'tensors');
  if (!collectiveOps.includes(op)) throw new ValueError('ERR_COLL_REFUSED', unknownOp(op));
  const [first] = tensors;
  if (!first) throw new ValueError('ERR_COLL_VALUE', `${op}: the list of tensors must be non-empty`);
  requireAlike(tensors);
  const refused = refusedArithmetic(op, first.dtype);
  if (refused) throw new ValueError('ERR_COLL_REFUSED', refused);
  return combineAlike(op, tensors);
}

/** Like `combine`, for validated tensors. */
export function combineAlike(op: CollectiveOp, tensors: readonly Tensor[]): Tensor {
  const [first] = tensors as readonly [Tensor];
  const dtype = op === 'mean' ? quotientOf(first.dtype) : first.dtype;
  const data = allocateUnset(dtype, first.data.length);
  combineInto(op, tensors, data);
  return { data, dtype, shape: first.shape, device: first.device };
}

/**
 * Combines validated tensors, as `combine` does, and writes the result to `into`, which may be the
 * memory of the first or the second tensor, but must not overlap any other.
 */
export function combineInto(op: CollectiveOp, tensors: readonly Tensor[], into: TypedArray): void {
  const [first, second, ...rest] = tensors as readonly [Tensor, ...Tensor[]];
  const { dtype, data } = first;
  const { length } = data;
  const wide = accumulatorOf(dtype, op);
  const sum = wide === dtype ? into : allocateUnset(wide, length);
  if (second) pairKernel(dtype, op)(sum, 0, addendOf(first, op), 0, addendOf(second, op), 0, length);
  else if (sum !== data) widenKernel(dtype, op)(sum, 0, data, 0, length);
  if (rest.length > 0) {
    const add = nextKernel(dtype, op);
    for (const other of rest) add(sum, 0, sum, 0, addendOf(other, op), 0, length);
  }
  if (op === 'mean') divideInto(into, sum, wide, dtype, tensors.length);
  else if (sum !== into) narrowKernel(dtype)(into, 0, sum, 0, length);
}

/**
 * The sum of a non-empty list, from left to right.
 * @throws as `combine`: ValueError for an empty list, InvalidArgumentError for different shapes,
 * InternalError for different dtypes
 *
 * @example
 * ```ts
 * import { addN, tensor, toNumbers } from '@coll/core';
 *
 * const sum = addN([tensor([1, 2]), tensor([3, 4]), tensor([5, 6])]);
 * console.log(toNumbers(sum)); // [ 9, 12 ]
 * ```
 */
export function addN(tensors: readonly Tensor[]): Tensor {
  return combine('sum', tensors);
}

/**
 * Adds rows of `rowLength` elements, in order, to a zero-filled array of `length` elements; row `r`
 * is added at element `places[r]`. With a divisor, divides the sums by true division, so that
 * integers become floats. 16-bit floats accumulate in float32 and are rounded once; integers with
 * a divisor accumulate in the dtype of the quotient.
 * @throws ValueError for bool with a divisor
 */
export function scatterAdd(
  rows: Tensor,
  rowLength: number,
  places: Int32Array,
  length: number,
  divisor?: number,
): Pick<Tensor, 'data' | 'dtype'> {
  const { dtype } = rows;
  if (divisor !== undefined) requireMean(dtype);
  const op = divisor === undefined ? 'sum' : 'mean';
  const wide = accumulatorOf(dtype, op);
  const sum = allocate(wide, length);
  const addends = addendOf(rows, op);
  const add = nextKernel(dtype, op);
  for (let row = 0; row < places.length; row++) {
    const place = places[row] as number;
    add(sum, place, sum, place, addends, row * rowLength, rowLength);
  }
  if (divisor === undefined) return { data: narrowed(sum, dtype), dtype };
  return { data: divided(sum, wide, dtype, divisor), dtype: quotientOf(dtype) };
}

/**
 * True division by a number, in new memory; integers become floats.
 * @throws ValueError for bool, and anything but a tensor and a number
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { divide } from '@coll/core/plugin';
 *
 * console.log(divide(tensor(new Float32Array([1, 2])), 2).data); // Float32Array(2) [ 0.5, 1 ]
 * ```
 */
export function divide(tensor: Tensor, divisor: number): Tensor {
  requireTensors([tensor], 'tensors');
  if (typeof divisor !== 'number')
    throw new ValueError('ERR_COLL_VALUE', `divisor must be a number, got ${quote(divisor)}`);
  requireMean(tensor.dtype);
  const { dtype } = tensor;
  const wide = accumulatorOf(dtype, 'sum');
  return { ...tensor, data: divided(addendOf(tensor, 'sum'), wide, dtype, divisor), dtype: quotientOf(dtype) };
}

/** The same integers in another integer type, in new memory. */
export function convertNumbers(tensor: Tensor, dtype: DType): Tensor {
  const data = allocate(dtype, tensor.data.length);
  const isBig = byteSize(dtype) === 8;
  tensor.data.forEach((value, index) => {
    data[index] = (isBig ? BigInt(value) : Number(value)) as number;
  });
  return { ...tensor, data, dtype };
}

/** @throws ValueError for a dtype without a mean */
export function requireMean(dtype: DType): void {
  const refused = refusedArithmetic('mean', dtype);
  if (refused) throw new ValueError('ERR_COLL_REFUSED', refused);
}

/**
 * @throws InvalidArgumentError for different shapes, InternalError for different dtypes; messages
 * state the position of the differing tensor
 */
export function requireAlike(tensors: readonly Tensor[], operation = 'reduce'): void {
  const [first] = tensors as readonly [Tensor];
  for (let rank = 1; rank < tensors.length; rank++) {
    const other = tensors[rank] as Tensor;
    if (other.dtype !== first.dtype || !sameShape(other.shape, first.shape))
      throw mismatch([first, other], rank, operation);
  }
}

function mismatch([first, other]: readonly [Tensor, Tensor], rank: number, operation: string): Error {
  const isDType = first.dtype !== other.dtype;
  const [ours, theirs] = isDType ? [first.dtype, other.dtype] : [`shape [${first.shape}]`, `[${other.shape}]`];
  const rule = `all must have the same ${isDType ? 'dtype' : 'shape'}`;
  const text = [`${operation}: replica `, 0, ` has ${ours}, replica `, rank, ` has ${theirs}; ${rule}`];
  return isDType
    ? rankError(InternalError, 'ERR_COLL_DTYPE_MISMATCH', text, { operation, rank })
    : rankError(InvalidArgumentError, 'ERR_COLL_SHAPE_MISMATCH', text, { operation, rank });
}

/** The tensor in the dtype in which its elements accumulate: `accumulatorOf` its dtype and the op. */
export function toAccumulator(tensor: Tensor, op: CollectiveOp): Tensor {
  const dtype = accumulatorOf(tensor.dtype, op);
  return dtype === tensor.dtype ? tensor : { ...tensor, dtype, data: widened(tensor, op) };
}

/** Converts results from the accumulator to `dtype`, rounding once; the inverse of `toAccumulator`. */
export function fromAccumulator(tensor: Tensor, dtype: DType): Tensor {
  return { ...tensor, dtype, data: narrowed(tensor.data, dtype) };
}

/** The elements of a tensor as operands of `pairKernel` and `nextKernel`. */
function addendOf(tensor: Tensor, op: CollectiveOp): TypedArray {
  return isHalf(tensor.dtype) ? widened(tensor, op) : tensor.data;
}

function widened({ dtype, data }: Tensor, op: CollectiveOp): TypedArray {
  const wide = allocateUnset(accumulatorOf(dtype, op), data.length);
  widenKernel(dtype, op)(wide, 0, data, 0, wide.length);
  return wide;
}

function narrowed(wide: TypedArray, dtype: DType): TypedArray {
  if (!isHalf(dtype)) return wide;
  const narrow = allocateUnset(dtype, wide.length);
  narrowKernel(dtype)(narrow, 0, wide, 0, wide.length);
  return narrow;
}

function divided(sum: TypedArray, wide: DType, dtype: DType, divisor: number): TypedArray {
  const quotient = allocateUnset(quotientOf(dtype), sum.length);
  divideInto(quotient, sum, wide, dtype, divisor);
  return quotient;
}

/**
 * Divides a sum of the dtype `wide`, to the quotients of `dtype`. `into` may be the memory of the
 * sum, which is overwritten for 16-bit floats.
 */
function divideInto(into: TypedArray, sum: TypedArray, wide: DType, dtype: DType, divisor: number): void {
  const quotient = isHalf(dtype) ? sum : into;
  divideKernel(wide)(quotient, 0, sum, 0, sum.length, divisor);
  if (isHalf(dtype)) narrowKernel(dtype)(into, 0, quotient, 0, sum.length);
}

import {
  asTensor,
  type CallOptions,
  type DType,
  dtypes,
  InternalError,
  isTensor,
  ReduceOp,
  type Tensor,
  type TensorLike,
  ValueError,
  WrongTypeError,
  zeros,
} from '@coll/core';
import { decodeNumber, encodeNumber, quote, refusedArithmetic } from '@coll/core/internal';
import { divide, isFloating, quotientOf } from '@coll/core/plugin';
import type { WorkerGroup } from './worker-group.js';

type Axis = number | readonly number[];

/**
 * Checks that values can be combined along an axis.
 * @throws WrongTypeError for an op other than SUM and MEAN, or an axis that is not an integer
 */
export function requireSummable(op: ReduceOp, axis: Axis): void {
  if (op !== ReduceOp.SUM && op !== ReduceOp.MEAN)
    throw new WrongTypeError(`reduce: an axis is supported for SUM and MEAN only, got ${op}`);
  const axes = Array.isArray(axis) ? axis : [axis];
  if (axes.every((item) => Number.isInteger(item))) return;
  throw new WrongTypeError(`reduce: axis must be an integer, a list of integers or null, got ${quote(axis)}`);
}

/** Checks that the mean of the values is defined. @throws ValueError for bool */
export function requireDivisible(values: readonly Tensor[]): void {
  const isBool = values.some(({ dtype }) => dtype === 'bool');
  const refused = isBool ? refusedArithmetic('mean', 'bool') : undefined;
  if (refused) throw new ValueError('ERR_COLL_REFUSED', `reduce: ${refused}`, { operation: 'reduce' });
}

/**
 * Returns axes as indices counted from 0, without duplicates; negative axes count from the end.
 * @throws ValueError (ERR_COLL_RANGE) for an axis out of range
 */
export function axesOf(value: TensorLike, axis: Axis): readonly number[] {
  const { shape } = asTensor(value);
  const axes = (Array.isArray(axis) ? axis : [axis as number]).map((item) => {
    const index = item < 0 ? item + shape.length : item;
    if (index >= 0 && index < shape.length) return index;
    throw new ValueError('ERR_COLL_RANGE', `reduce: axis ${item} is out of range for shape [${shape}]`, {
      operation: 'reduce',
    });
  });
  return [...new Set(axes)];
}

/** Number of elements that are added for each element of the sum along the axes. */
export function sizeAlong(value: TensorLike, axes: readonly number[]): number {
  const { shape } = asTensor(value);
  return axes.reduce((product, axis) => product * (shape[axis] as number), 1);
}

/**
 * The dtype of all components.
 * @throws InternalError if dtypes differ
 */
export function commonDType(components: readonly Tensor[]): DType {
  const [{ dtype }] = components as readonly [Tensor];
  const rank = components.findIndex((component) => component.dtype !== dtype);
  if (rank < 0) return dtype;
  const message = `reduce: replica 0 has ${dtype}, replica ${rank} has ${components[rank]?.dtype}; all must have the same dtype`;
  throw new InternalError('ERR_COLL_DTYPE_MISMATCH', message, { operation: 'reduce', rank });
}

/**
 * Adds up how many elements all workers add for each element of the sum, and checks that all
 * workers have the same dtype, because partial sums of different dtypes could be added.
 * @throws InternalError on all workers if dtypes differ
 */
export async function countAcross(
  workers: WorkerGroup,
  dtype: DType,
  count: number,
  call: CallOptions,
): Promise<number> {
  if (workers.size === 1) return count;
  const own = new Float64Array(dtypes.length + 1);
  own[dtypes.indexOf(dtype)] = 1;
  own[dtypes.length] = count;
  const { data } = await workers.allReduceFor('count', ReduceOp.SUM, asTensor(own), call);
  const found = dtypes.filter((_, index) => data[index] !== 0);
  if (found.length === 1) return Number(data[dtypes.length]);
  const message = `reduce: the values of the workers have the dtypes ${found.join(', ')}; all must have the same dtype`;
  throw new InternalError('ERR_COLL_DTYPE_MISMATCH', message, { operation: 'reduce' });
}

/**
 * The sum of all partial sums as the result of a reduction of `dtype`, rounded once; for a mean
 * divided by `count`.
 */
export function roundedTotal(op: ReduceOp, total: Tensor, dtype: DType, count: number): Tensor {
  if (op === ReduceOp.SUM && total.dtype === dtype) return total;
  const result = zeros(op === ReduceOp.MEAN ? quotientOf(dtype) : dtype, total.shape, total.device);
  const divisor = op === ReduceOp.MEAN ? count : 1;
  for (let index = 0; index < result.data.length; index++)
    result.data[index] = encodeNumber((total.data[index] as number) / divisor, result.dtype) as number;
  return result;
}

/** The mean of a single value: the value itself, but integers become floats as in every mean. */
export function trueMean(value: unknown): unknown {
  if (!isTensor(value) && !ArrayBuffer.isView(value)) return value;
  const tensor = asTensor(value);
  return isFloating(tensor.dtype) || tensor.dtype === 'bool' ? value : divide(tensor, 1);
}

/**
 * A replica's own sum along axes, which are removed from the shape: in float64 for floats and
 * means, and otherwise in the dtype of the value, in which integers wrap around.
 */
export function sumAlong(op: ReduceOp, value: TensorLike, axis: Axis): Tensor {
  const from = asTensor(value);
  const axes = axesOf(from, axis);
  const kept = from.shape.map((_, index) => index).filter((index) => !axes.includes(index));
  const sum = zeros(
    op === ReduceOp.MEAN || isFloating(from.dtype) ? 'float64' : from.dtype,
    kept.map((index) => from.shape[index] as number),
    from.device,
  );
  const strides = stridesInto(from.shape, kept);
  if (sum.dtype === 'int64' || sum.dtype === 'uint64') {
    const into = sum.data as BigInt64Array;
    forEachElement(from.shape, strides, (at, to) => {
      into[to] = (into[to] as bigint) + (from.data[at] as bigint);
    });
    return sum;
  }
  const totals = sum.data instanceof Float64Array ? sum.data : new Float64Array(sum.data.length);
  forEachElement(from.shape, strides, (at, to) => {
    totals[to] = (totals[to] as number) + decodeNumber(from.data, at, from.dtype);
  });
  if (totals === sum.data) return sum;
  totals.forEach((total, index) => {
    sum.data[index] = encodeNumber(total, sum.dtype) as number;
  });
  return sum;
}

/**
 * For each axis of a shape: how far the index of the sum's element moves when the index along this
 * axis grows by one. 0 for axes that are summed.
 */
function stridesInto(shape: readonly number[], kept: readonly number[]): readonly number[] {
  const strides = shape.map(() => 0);
  kept.reduceRight((stride, axis) => {
    strides[axis] = stride;
    return stride * (shape[axis] as number);
  }, 1);
  return strides;
}

function forEachElement(
  shape: readonly number[],
  strides: readonly number[],
  visit: (from: number, into: number) => void,
): void {
  const index = shape.map(() => 0);
  const count = shape.reduce((product, dimension) => product * dimension, 1);
  let into = 0;
  for (let from = 0; from < count; from++) {
    visit(from, into);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      into += strides[axis] as number;
      index[axis] = (index[axis] as number) + 1;
      if ((index[axis] as number) < (shape[axis] as number)) break;
      into -= (strides[axis] as number) * (shape[axis] as number);
      index[axis] = 0;
    }
  }
}

import { asTensor, ReduceOp, type Tensor, type TensorLike, ValueError, WrongTypeError, zeros } from '@coll/core';
import { decodeNumber, encodeNumber, quote } from '@coll/core/internal';

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
  if (!values.some(({ dtype }) => dtype === 'bool')) return;
  throw new ValueError('ERR_COLL_REFUSED', 'reduce: the mean of bool is not defined: convert to a number type first', {
    operation: 'reduce',
  });
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
 * A replica's own sum along axes, which are removed from the shape. int64 and uint64 are added as
 * 64-bit integers; other dtypes are added in float64 and rounded once.
 */
export function sumAlong(value: TensorLike, axis: Axis): Tensor {
  const from = asTensor(value);
  const axes = axesOf(from, axis);
  const kept = from.shape.map((_, index) => index).filter((index) => !axes.includes(index));
  const sum = zeros(
    from.dtype,
    kept.map((index) => from.shape[index] as number),
    from.device,
  );
  const strides = stridesInto(from.shape, kept);
  if (from.dtype === 'int64' || from.dtype === 'uint64') {
    const into = sum.data as BigInt64Array;
    forEachElement(from.shape, strides, (at, to) => {
      into[to] = (into[to] as bigint) + (from.data[at] as bigint);
    });
    return sum;
  }
  const totals = new Float64Array(sum.data.length);
  forEachElement(from.shape, strides, (at, to) => {
    totals[to] = (totals[to] as number) + decodeNumber(from.data, at, from.dtype);
  });
  totals.forEach((total, index) => {
    sum.data[index] = encodeNumber(total, from.dtype) as number;
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

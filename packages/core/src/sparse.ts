import { addN, convertNumbers, divide, requireAlike, scatterAdd } from './arithmetic.js';
import { DistributedValues, Mirrored } from './distributed-values.js';
import { AssertionError, InvalidArgumentError, ValueError } from './errors.js';
import { IndexedSlices } from './indexed-slices.js';
import { concatenate } from './packing/concatenate.js';
import { asTensor, copyTo, elementCount, reshape, sameShape, type Tensor } from './tensor.js';

/** A dense or a sparse tensor: what can be reduced. */
export type Value = Tensor | IndexedSlices;

/** A tensor or indexed slices from whatever stands for them. @throws ValueError */
export function asValue(value: unknown): Value {
  if (ArrayBuffer.isView(value)) return asTensor(value);
  if (value instanceof Mirrored) return asValue(value.primary);
  return value instanceof IndexedSlices ? value : asTensor(value);
}

/** Whether a value is sparse: indexed slices, or distributed values all of whose components are. */
export function isIndexedSlices(value: unknown): boolean {
  // Most values are tensors, and asking for a brand takes longer.
  if (typeof value === 'object' && value !== null && 'data' in value) return false;
  if (value instanceof DistributedValues)
    return value.values.length > 0 && value.values.every((item) => item instanceof IndexedSlices);
  return value instanceof IndexedSlices;
}

/**
 * The sum of dense or sparse values. All dense: `accumulate` of them. All sparse: their slices one after the other, with
 * duplicated indices left as they are. Mixed: a dense sum, without `accumulate`.
 */
export function aggregateTensorsOrIndexedSlices(
  values: readonly (Value | undefined)[],
  accumulate: (tensors: readonly Tensor[]) => Tensor,
): Value | undefined {
  if (!values.some((value) => value instanceof IndexedSlices)) return accumulate(values as readonly Tensor[]);
  const present = values.filter((value) => value !== undefined);
  if (values.length === 1) return present[0];
  if (present.every((value) => value instanceof IndexedSlices))
    return concatenateSlices(present as readonly IndexedSlices[]);
  return addN(present.map((value) => (value instanceof IndexedSlices ? densify(value) : value)));
}

/**
 * All rows of several sparse values in order; indices become int64 where they differ in type.
 * @throws InvalidArgumentError for rows of different shapes, InternalError for different dtypes
 */
export function concatenateSlices(slices: readonly IndexedSlices[]): IndexedSlices {
  const [first] = slices as readonly [IndexedSlices];
  const rowOf = ({ values }: IndexedSlices) => values.shape.slice(1);
  const odd = slices.findIndex((other) => !sameShape(rowOf(other), rowOf(first)));
  if (odd >= 0)
    throw new InvalidArgumentError(
      'ERR_COLL_SHAPE_MISMATCH',
      `reduce: replica 0 has rows of shape [${rowOf(first)}], replica ${odd} [${rowOf(slices[odd] as IndexedSlices)}]; all need one shape`,
      { operation: 'reduce', rank: odd },
    );
  requireAlike(slices.map(({ values }) => ({ ...values, shape: [] })));
  const rows = slices.reduce((sum, { indices }) => sum + indices.data.length, 0);
  const alike = slices.every(({ indices }) => indices.dtype === first.indices.dtype);
  const indices = slices.map((item) => (alike ? item.indices : convertNumbers(item.indices, 'int64')));
  const values = reshape(concatenate(slices.map((item) => item.values)), [rows, ...first.values.shape.slice(1)]);
  return new IndexedSlices(values, concatenate(indices), first.denseShape);
}

/** The dense tensor that slices stand for. @throws ValueError without a dense shape, or for an index outside of it */
export function densify(slices: IndexedSlices): Tensor {
  const { values, indices, denseShape } = slices;
  if (!denseShape)
    throw new ValueError(
      'ERR_COLL_VALUE',
      'only indexed slices with a denseShape can become dense: pass it as third argument',
    );
  const rowLength = elementCount(denseShape.slice(1));
  const places = [...indices.data].map((raw) => {
    const index = Number(raw);
    if (index < 0 || index >= (denseShape[0] ?? 0)) {
      throw new ValueError('ERR_COLL_VALUE', `index ${index} is outside of denseShape [${denseShape}]`);
    }
    return index * rowLength;
  });
  const data = scatterAdd(values, rowLength, places, elementCount(denseShape));
  return { data, dtype: values.dtype, shape: denseShape, device: values.device };
}

/** True division by `n`; of sparse values, their `values`. The mean of integers is a float. */
export function divideByN(value: Value, n: number): Value {
  if (!(value instanceof IndexedSlices)) return divide(value, n);
  return new IndexedSlices(divide(value.values, n), value.indices, value.denseShape);
}

/** A copy on a device. */
export function copyToDevice(value: Value, device: string): Value {
  if (!(value instanceof IndexedSlices)) return copyTo(value, device);
  return new IndexedSlices(copyTo(value.values, device), copyTo(value.indices, device), value.denseShape);
}

/** The same memory, said to be on a device. */
export function viewOnDevice<Kind extends Value>(value: Kind, device: string): Kind;
export function viewOnDevice(value: Value, device: string): Value {
  if ('data' in value) return { data: value.data, dtype: value.dtype, shape: value.shape, device };
  return new IndexedSlices({ ...value.values, device }, { ...value.indices, device }, value.denseShape);
}

export interface SplitValues<T> {
  readonly dense: readonly T[];
  readonly denseIndices: readonly number[];
  readonly sparse: readonly T[];
  readonly sparseIndices: readonly number[];
}

/** Sorts values into dense and sparse ones, with the positions that they had. */
export function splitBySparsity<T>(values: readonly T[]): SplitValues<T> {
  const split = { dense: [] as T[], denseIndices: [] as number[], sparse: [] as T[], sparseIndices: [] as number[] };
  values.forEach((value, index) => {
    if (isIndexedSlices(value)) {
      split.sparse.push(value);
      split.sparseIndices.push(index);
    } else {
      split.dense.push(value);
      split.denseIndices.push(index);
    }
  });
  return split;
}

/** The inverse of splitting: puts values back to their positions. @throws AssertionError where one is filled twice */
export function stitchValues<T>(parts: readonly (readonly [values: readonly T[], indices: readonly number[]])[]): T[] {
  const whole: T[] = new Array(parts.reduce((sum, [values]) => sum + values.length, 0));
  for (const [values, indices] of parts) {
    values.forEach((value, position) => {
      const index = indices[position] as number;
      if (index in whole) throw new AssertionError('ERR_COLL_INTERNAL', `position ${index} is filled twice`);
      whole[index] = value;
    });
  }
  return whole;
}

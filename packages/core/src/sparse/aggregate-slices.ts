import { combine, convertNumbers, fromAccumulator, toAccumulator } from '../kernels/arithmetic.js';
import { ValueError } from '../support/errors.js';
import { requireFunction, requireList } from '../support/requirements.js';
import { concatenate } from '../values/concatenate.js';
import { quotientOf } from '../values/dtype.js';
import { IndexedSlices, requireSlices, type Value } from '../values/indexed-slices.js';
import { requireElements, reshape, type Tensor } from '../values/tensor.js';
import { densifyOf } from './densify.js';
import { requireLikeRows, requireLikeValues, rowKindOf } from './like-values.js';
import { asValue } from './sparse.js';

/**
 * The sum of dense or sparse values. Dense values are summed by `accumulate`, sparse ones by
 * concatenating their slices, including duplicate indices; a mix gives a dense sum, without
 * `accumulate`. If any value is sparse, undefined values are skipped, and a single remaining value
 * is returned unchanged.
 * @throws InvalidArgumentError for different shapes, InternalError for different dtypes, ValueError
 * unless `values` is a list and `accumulate` a function; for a mix of dense and sparse values also
 * the errors of `densify`
 *
 * @example
 * ```ts
 * import { addN, aggregateTensorsOrIndexedSlices, IndexedSlices } from '@coll/core';
 *
 * const first = new IndexedSlices(new Float32Array([1, 2]), new Int32Array([0, 3]), [5]);
 * const second = new IndexedSlices(new Float32Array([3]), new Int32Array([3]), [5]);
 * const sum = aggregateTensorsOrIndexedSlices([first, second], addN);
 * console.log(sum && 'indices' in sum && sum.indices.data); // Int32Array(3) [ 0, 3, 3 ]
 * ```
 */
export function aggregateTensorsOrIndexedSlices(
  values: readonly (Value | undefined)[],
  accumulate: (tensors: readonly Tensor[]) => Tensor,
): Value | undefined {
  requireList(values, 'values');
  requireFunction(accumulate, 'accumulate');
  if (!values.some((value) => value instanceof IndexedSlices)) return accumulate(values as readonly Tensor[]);
  const present = values.filter((value) => value !== undefined && value !== null).map(asValue);
  if (present.length < 2) return present[0];
  return present.every((value) => value instanceof IndexedSlices)
    ? concatenateSlices(present)
    : combineMixed('sum', present);
}

/**
 * All rows of several sparse values in order. Indices become int64 if their dtypes differ. The
 * result has the dense shape of the first value.
 * @throws InvalidArgumentError for rows of different shapes, InternalError for different dtypes,
 * ValueError for an empty list, or for more elements than a tensor can have
 *
 * @example
 * ```ts
 * import { IndexedSlices } from '@coll/core';
 * import { concatenateSlices } from '@coll/core/plugin';
 *
 * const first = new IndexedSlices(new Float32Array([1, 2]), new Int32Array([0, 3]));
 * const second = new IndexedSlices(new Float32Array([3]), new Int32Array([3]));
 * console.log(concatenateSlices([first, second]).indices.data); // Int32Array(3) [ 0, 3, 3 ]
 * ```
 */
export function concatenateSlices(slices: readonly IndexedSlices[]): IndexedSlices {
  requireList(slices, 'slices');
  for (const item of slices) requireSlices(item);
  const [first] = slices;
  if (!first) throw new ValueError('ERR_COLL_VALUE', 'the list of indexed slices must be non-empty');
  requireLikeRows(slices.map(rowKindOf));
  const rows = slices.reduce((sum, { indices }) => sum + indices.data.length, 0);
  const isAlike = slices.every(({ indices }) => indices.dtype === first.indices.dtype);
  const indices = slices.map((item) => (isAlike ? item.indices : convertNumbers(item.indices, 'int64')));
  requireElements(slices.reduce((sum, { values }) => sum + values.data.length, 0));
  const values = reshape(concatenate(slices.map((item) => item.values)), [rows, ...first.values.shape.slice(1)]);
  return new IndexedSlices(values, concatenate(indices), first.denseShape);
}

/**
 * The sum or mean of dense and sparse values, as a dense tensor. Values stay in their accumulator
 * until the end, and are rounded once.
 * @throws InvalidArgumentError for different shapes, InternalError for different dtypes; also the
 * errors of `densify`
 */
export function combineMixed(op: 'sum' | 'mean', values: readonly Value[]): Tensor {
  requireList(values, 'values');
  const parts = Array.from(values, (value) => asValue(value));
  requireLikeValues(parts);
  const wide = parts.map((value, rank) => {
    if ('data' in value) return toAccumulator(value, op);
    return densifyOf(new IndexedSlices(toAccumulator(value.values, op), value.indices, value.denseShape), rank);
  });
  const combined = combine(op, wide);
  const { dtype } = parts[0] as Value;
  return fromAccumulator(combined, op === 'mean' ? quotientOf(dtype) : dtype);
}

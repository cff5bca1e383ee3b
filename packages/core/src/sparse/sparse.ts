import { divide } from '../kernels/arithmetic.js';
import { AssertionError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { requireList } from '../support/requirements.js';
import { DistributedValues, Mirrored } from '../values/distributed-values.js';
import { IndexedSlices, type Value } from '../values/indexed-slices.js';
import { asTensor, copyTo, isTensor, tensorSymbol } from '../values/tensor.js';

/**
 * The tensor or indexed slices that a value represents.
 * @throws ValueError if the value represents neither
 */
export function asValue(value: unknown): Value {
  if (ArrayBuffer.isView(value) || (isTensor(value) && !(tensorSymbol in value))) return asTensor(value);
  if (value instanceof Mirrored) return asValue(value.get());
  return value instanceof IndexedSlices ? value : asTensor(value);
}

/**
 * Whether a value is sparse: indexed slices, or distributed values whose components are all sparse.
 *
 * @example
 * ```ts
 * import { IndexedSlices, isIndexedSlices, tensor } from '@coll/core';
 *
 * const slices = new IndexedSlices(new Float32Array([1]), new Int32Array([0]));
 * console.log(isIndexedSlices(slices), isIndexedSlices(tensor([1]))); // true false
 * ```
 */
export function isIndexedSlices(value: unknown): boolean {
  // A fast path: most values are tensors, and testing the brand takes longer.
  if (typeof value === 'object' && value !== null && 'data' in value) return false;
  if (value instanceof DistributedValues) return value.values.length > 0 && value.values.every(isSlices);
  return value instanceof IndexedSlices;
}

function isSlices(item: unknown): boolean {
  if (typeof item === 'object' && item !== null && 'data' in item) return false;
  return item instanceof IndexedSlices;
}

/**
 * Divides a tensor, or the rows of a sparse value, by `n`. Integers become floats.
 * @throws ValueError for bool, and unless `n` is a number
 *
 * @example
 * ```ts
 * import { divideByN, tensor } from '@coll/core';
 *
 * const half = divideByN(tensor(new Int32Array([1, 2])), 2);
 * console.log(half.dtype, 'data' in half && half.data); // float64 Float64Array(2) [ 0.5, 1 ]
 * ```
 */
export function divideByN(value: Value, n: number): Value {
  if (!(value instanceof IndexedSlices)) return divide(asTensor(value), n);
  return new IndexedSlices(divide(value.values, n), value.indices, value.denseShape);
}

/**
 * A copy in new memory on `device`.
 * @throws ValueError for anything but a tensor or slices
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { copyToDevice } from '@coll/core/plugin';
 *
 * const copy = copyToDevice(tensor([1, 2], { device: 'cpu:0' }), 'cpu:1');
 * console.log(copy.device); // cpu:1
 * ```
 */
export function copyToDevice(value: Value, device: string): Value {
  if (!(value instanceof IndexedSlices)) return copyTo(asTensor(value), device);
  return new IndexedSlices(copyTo(value.values, device), copyTo(value.indices, device), value.denseShape);
}

/**
 * The same memory with another device name.
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { viewOnDevice } from '@coll/core/plugin';
 *
 * const value = tensor([1, 2], { device: 'cpu:0' });
 * const view = viewOnDevice(value, 'cpu:1');
 * console.log(view.device, view.data === value.data); // cpu:1 true
 * ```
 */
export function viewOnDevice<Kind extends Value>(value: Kind, device: string): Kind;
export function viewOnDevice(value: Value, device: string): Value {
  if ('memory' in value && value.memory) return value.memory.view(value.shape, device);
  if ('data' in value) return { data: value.data, dtype: value.dtype, shape: value.shape, device };
  return new IndexedSlices(viewOnDevice(value.values, device), viewOnDevice(value.indices, device), value.denseShape);
}

/** Dense and sparse values, each with its index in the original list. */
export interface SplitValues<T> {
  readonly dense: readonly T[];
  readonly denseIndices: readonly number[];
  readonly sparse: readonly T[];
  readonly sparseIndices: readonly number[];
}

/**
 * Splits values into dense and sparse ones, with their original indices.
 * @throws ValueError unless `values` is a list
 *
 * @example
 * ```ts
 * import { IndexedSlices, splitBySparsity, tensor } from '@coll/core';
 *
 * const slices = new IndexedSlices(new Float32Array([1]), new Int32Array([0]));
 * const { denseIndices, sparseIndices } = splitBySparsity([tensor([1]), slices, tensor([2])]);
 * console.log(denseIndices, sparseIndices); // [ 0, 2 ] [ 1 ]
 * ```
 */
export function splitBySparsity<T>(values: readonly T[]): SplitValues<T> {
  requireList(values, 'values');
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

/**
 * The inverse of `splitBySparsity`: puts values back at their original indices.
 * @throws AssertionError if an index occurs twice or is out of range; ValueError unless `parts` are
 * pairs of lists
 *
 * @example
 * ```ts
 * import { stitchValues } from '@coll/core';
 *
 * const whole = stitchValues([
 *   [['a', 'c'], [0, 2]],
 *   [['b'], [1]],
 * ]);
 * console.log(whole); // [ 'a', 'b', 'c' ]
 * ```
 */
export function stitchValues<T>(parts: readonly (readonly [values: readonly T[], indices: readonly number[]])[]): T[] {
  requireList(parts, 'parts');
  for (const part of parts) {
    requireList(part, 'a part');
    requireList(part[0], 'the values of a part');
    requireList(part[1], 'the indices of a part');
  }
  const count = parts.reduce((sum, [values]) => sum + values.length, 0);
  const whole: T[] = new Array(count);
  for (const [values, indices] of parts) {
    values.forEach((value, position) => {
      const index = indices[position] as number;
      if (!(Number.isInteger(index) && index >= 0 && index < count))
        throw new AssertionError(
          'ERR_COLL_INTERNAL',
          `internal error: position ${quote(index)} is not one of ${count}`,
        );
      if (index in whole)
        throw new AssertionError('ERR_COLL_INTERNAL', `internal error: position ${index} is filled twice`);
      whole[index] = value;
    });
  }
  return whole;
}

import { scatterAdd } from '../kernels/arithmetic.js';
import { allocate } from '../values/dtype.js';
import { wordsOf } from '../values/index-numbers.js';
import { IndexedSlices, requireSlices } from '../values/indexed-slices.js';
import { elementCount, type Tensor } from '../values/tensor.js';
import { ascendingOrder } from './ascending-order.js';

/**
 * The same sparse value in new memory, with every index once, in ascending order. Rows of equal
 * index are added in the order in which they occur. 16-bit floats accumulate in float32 and are
 * rounded once. Indices outside `denseShape` are kept.
 * @throws WrongTypeError unless `slices` is sparse
 *
 * @example
 * ```ts
 * import { deduplicate, IndexedSlices } from '@coll/core';
 *
 * const slices = new IndexedSlices(new Float32Array([1, 2, 3]), new Int32Array([7, 4, 7]));
 * const { values, indices } = deduplicate(slices);
 * console.log(values.data, indices.data); // Float32Array(2) [ 2, 4 ] Int32Array(2) [ 4, 7 ]
 * ```
 */
export function deduplicate(slices: IndexedSlices): IndexedSlices {
  requireSlices(slices);
  return deduplicated(slices);
}

/**
 * Like `deduplicate`, but divides the sums by the number of replicas (true division).
 * @throws ValueError for values of dtype bool
 */
export function deduplicatedMean(slices: IndexedSlices, replicas: number): IndexedSlices {
  return deduplicated(slices, replicas);
}

function deduplicated({ values, indices, denseShape }: IndexedSlices, divisor?: number): IndexedSlices {
  const row = values.shape.slice(1);
  const rowLength = elementCount(row);
  const { places, unique } = placesOf(indices, rowLength);
  const count = unique.data.length;
  const sums = scatterAdd(values, rowLength, places, count * rowLength, divisor);
  return new IndexedSlices({ ...sums, shape: [count, ...row], device: values.device }, unique, denseShape);
}

/**
 * `unique` holds every index once, in ascending order; row `r` of the values is added to the result
 * from element `places[r]` on.
 */
function placesOf(indices: Tensor, rowLength: number): { readonly places: Int32Array; readonly unique: Tensor } {
  const order = ascendingOrder(indices);
  const { data: words, perInteger } = wordsOf(indices);
  const places = new Int32Array(order.length);
  const kept = allocate(indices.dtype, order.length);
  const { data: keptWords } = wordsOf({ data: kept, dtype: indices.dtype });
  let count = 0;
  for (let index = 0; index < order.length; index++) {
    const position = order[index] as number;
    const [from, last] = [position * perInteger, (count - 1) * perInteger];
    if (count === 0 || !sameWords(words, from, keptWords, last, perInteger)) {
      for (let word = 0; word < perInteger; word++) keptWords[count * perInteger + word] = words[from + word] as number;
      count++;
    }
    places[position] = (count - 1) * rowLength;
  }
  return { places, unique: { ...indices, data: kept.slice(0, count), shape: [count] } };
}

function sameWords(a: Tensor['data'], aAt: number, b: Tensor['data'], bAt: number, count: number): boolean {
  return a[aAt] === b[bAt] && (count === 1 || a[aAt + 1] === b[bAt + 1]);
}

import { type RankText, rankError } from '../collectives/failures.js';
import { scatterAdd } from '../kernels/arithmetic.js';
import { ValueError } from '../support/errors.js';
import { asNumbers, firstOutside } from '../values/index-numbers.js';
import { type IndexedSlices, requireSlices } from '../values/indexed-slices.js';
import { elementCount, requireElements, type Tensor } from '../values/tensor.js';

/**
 * The dense tensor of slices, in new memory on their device. Rows of equal index are added in the
 * order in which they occur; all other elements are zeros. 16-bit floats accumulate in float32 and
 * are rounded once.
 * @throws ValueError if the dense shape is missing or has too many elements, or an index is outside
 * it; WrongTypeError unless `slices` is sparse
 *
 * @example
 * ```ts
 * import { densify, IndexedSlices } from '@coll/core';
 *
 * const slices = new IndexedSlices(new Float32Array([1, 2, 3]), new Int32Array([2, 0, 2]), [4]);
 * console.log(densify(slices).data); // Float32Array(4) [ 2, 0, 4, 0 ]
 * ```
 */
export function densify(slices: IndexedSlices): Tensor {
  requireSlices(slices);
  return densifyOf(slices);
}

/** Like `densify`, but errors name the replica `rank`. */
export function densifyOf(slices: IndexedSlices, rank?: number): Tensor {
  const { values, indices } = slices;
  const shape = denseShapeOf(slices, rank);
  const [rows = 0] = shape;
  const rowLength = elementCount(shape.slice(1));
  requireElements(elementCount(shape));
  const numbers = asNumbers(indices);
  const outside = firstOutside(numbers, rows);
  if (outside >= 0)
    throw refused(
      [`index ${indices.data[outside]}`, ...replicaIn(' of', rank), ` is outside denseShape [${shape}]`],
      rank,
    );
  const places = new Int32Array(numbers.length);
  for (let position = 0; position < places.length; position++) {
    places[position] = (numbers[position] as number) * rowLength;
  }
  return { ...scatterAdd(values, rowLength, places, rows * rowLength), shape, device: values.device };
}

/** The dense shape of slices. @throws ValueError if it is undefined */
export function denseShapeOf({ denseShape }: IndexedSlices, rank?: number): readonly number[] {
  if (denseShape) return denseShape;
  const problem = 'only indexed slices with a denseShape can become dense';
  throw refused([problem, ...replicaIn(': there is none on', rank), '; pass it as third argument'], rank);
}

/** `words` followed by the replica, or nothing if `rank` is undefined. */
function replicaIn(words: string, rank: number | undefined): RankText {
  return rank === undefined ? [] : [`${words} replica `, rank];
}

function refused(text: RankText, rank: number | undefined): ValueError {
  return rankError(ValueError, 'ERR_COLL_VALUE', text, { rank });
}

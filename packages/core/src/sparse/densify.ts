import { scatterAdd } from '../kernels/arithmetic.js';
import { ValueError } from '../support/errors.js';
import { type RankWords, rankError } from '../support/rank-words.js';
import { elementCount, requireElements, type Tensor } from '../values/tensor.js';
import { asNumbers, firstOutside } from './index-numbers.js';
import { type IndexedSlices, requireSlices } from './indexed-slices.js';

/**
 * The dense tensor of slices, in new memory on their device: rows of equal index added in their
 * order, zeros elsewhere. Half types accumulate in float32 and are rounded once.
 * @throws ValueError without a dense shape or for one of too many elements, and for an index that
 * is negative or outside of it; WrongTypeError unless it is sparse
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

/** `densify` for the slices of a replica, which errors name. */
export function densifyOf(slices: IndexedSlices, rank?: number): Tensor {
  const { values, indices } = slices;
  const shape = denseShapeOf(slices, rank);
  const [rows = 0] = shape;
  const rowLength = elementCount(shape.slice(1));
  requireElements(elementCount(shape));
  const numbers = asNumbers(indices);
  const outside = firstOutside(numbers, rows);
  if (outside >= 0)
    throw refused((whose) => `index ${indices.data[outside]}${whose(' of')} is outside denseShape [${shape}]`, rank);
  const places = new Int32Array(numbers.length);
  for (let position = 0; position < places.length; position++) {
    places[position] = (numbers[position] as number) * rowLength;
  }
  return { ...scatterAdd(values, rowLength, places, rows * rowLength), shape, device: values.device };
}

/** The dense shape of slices. @throws ValueError if it is undefined */
export function denseShapeOf({ denseShape }: IndexedSlices, rank?: number): readonly number[] {
  if (denseShape) return denseShape;
  throw refused(
    (whose) =>
      `only indexed slices with a denseShape can become dense${whose(': there is none on')}; pass it as third argument`,
    rank,
  );
}

/** `problem` gets the replica after some words, unless it is unknown. */
function refused(problem: (whose: (words: string) => string) => string, rank: number | undefined): ValueError {
  const words: RankWords = (name) => problem((own) => (rank === undefined ? '' : `${own} replica ${name(rank)}`));
  return rankError(ValueError, 'ERR_COLL_VALUE', words, { rank });
}

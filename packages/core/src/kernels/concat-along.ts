import { rankError } from '../collectives/failures.js';
import { OutOfRangeError } from '../support/built-in-errors.js';
import { InvalidArgumentError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { slice } from '../values/concatenate.js';
import { allocate } from '../values/dtype.js';
import { copyElements, elementCount, sameShape, type Tensor } from '../values/tensor.js';
import { requireTensors } from '../values/tensor-lists.js';
import { requireAlike } from './arithmetic.js';

/**
 * Joins tensors along an axis, in order, in new memory on the first one's device.
 * @throws ValueError for an empty list or scalars, OutOfRangeError for an axis out of range,
 * InvalidArgumentError if ranks or other dimensions differ
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { concatAlong } from '@coll/core/plugin';
 *
 * const row = tensor([1, 2], { shape: [1, 2] });
 * console.log(concatAlong([row, row], 0).shape); // [ 2, 2 ]
 * console.log(concatAlong([row, row], 1).shape); // [ 1, 4 ]
 * ```
 */
export function concatAlong(tensors: readonly Tensor[], axis: number): Tensor {
  requireTensors(tensors, 'tensors');
  const [first] = tensors;
  if (!first) throw new ValueError('ERR_COLL_VALUE', 'gather: the list of tensors must be non-empty');
  requireAxis(axis, first.shape);
  requireJoinable(
    tensors.map(({ shape }) => shape),
    axis,
  );
  requireAlike(
    tensors.map(({ dtype, data, device }) => ({ dtype, data, device, shape: [] })),
    'gather',
  );
  const along = tensors.reduce((sum, { shape }) => sum + (shape[axis] as number), 0);
  const shape = first.shape.map((dimension, index) => (index === axis ? along : dimension));
  const joined = { data: allocate(first.dtype, elementCount(shape)), dtype: first.dtype, shape, device: first.device };
  const rows = elementCount(shape.slice(0, axis));
  let at = 0;
  for (let row = 0; row < rows; row++) {
    for (const part of tensors) {
      const length = part.data.length / rows;
      copyElements(slice(joined, at, at + length).data, slice(part, row * length, (row + 1) * length).data);
      at += length;
    }
  }
  return joined;
}

/** @throws InvalidArgumentError if the number of dimensions, or a dimension other than `axis`, differs */
export function requireJoinable(
  shapes: readonly (readonly number[])[],
  axis: number,
  operation: 'gather' | 'all-gather' = 'gather',
): void {
  const [first] = shapes as readonly [readonly number[]];
  const rest = first.with(axis, 0);
  const odd = shapes.findIndex((shape) => shape.length !== first.length || !sameShape(shape.with(axis, 0), rest));
  if (odd < 0) return;
  throw rankError(
    InvalidArgumentError,
    'ERR_COLL_SHAPE_MISMATCH',
    [
      `${operation} along axis ${axis}: replica `,
      0,
      ` has shape [${first}], replica `,
      odd,
      ` has [${shapes[odd]}]; only that axis may differ`,
    ],
    { rank: odd, operation },
  );
}

/**
 * @throws ValueError for a scalar, OutOfRangeError for an axis outside the shape (negative axes are
 * not supported)
 */
export function requireAxis(axis: number, shape: readonly number[]): void {
  if (shape.length === 0)
    throw new ValueError('ERR_COLL_VALUE', 'gather: scalars have no axis to concatenate along; give them shape [1]');
  if (Number.isInteger(axis) && axis >= 0 && axis < shape.length) return;
  const message = `gather: axis ${quote(axis)} is out of range for shape [${shape}]: its axes are numbered 0 to ${shape.length - 1}`;
  throw new OutOfRangeError(message, { operation: 'gather' });
}

import { requireAlike } from './arithmetic.js';
import { allocate } from './dtype.js';
import { InvalidArgumentError, OutOfRangeError, ValueError } from './errors.js';
import { slice } from './packing/concatenate.js';
import { copyElements, elementCount, type Tensor } from './tensor.js';

/**
 * Tensors joined along an axis, in order, in new memory on the first one's device.
 * @throws ValueError for none or for scalars, OutOfRangeError for an axis that is not there, InvalidArgumentError where
 * ranks or other dimensions differ
 */
export function concatAlong(tensors: readonly Tensor[], axis: number): Tensor {
  const [first] = tensors;
  if (!first) throw new ValueError('ERR_COLL_VALUE', 'gather: the list of tensors must be non-empty');
  requireAxis(axis, first.shape);
  const rest = (shape: readonly number[]) => shape.filter((_, index) => index !== axis);
  const odd = tensors.findIndex(
    ({ shape }) => shape.length !== first.shape.length || `${rest(shape)}` !== `${rest(first.shape)}`,
  );
  if (odd >= 0) {
    const shapes = `replica 0 has shape [${first.shape}], replica ${odd} [${tensors[odd]?.shape}]`;
    throw new InvalidArgumentError(
      'ERR_COLL_SHAPE_MISMATCH',
      `gather along axis ${axis}: ${shapes}; only that axis may differ`,
      { rank: odd, operation: 'gather' },
    );
  }
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

/** @throws ValueError for a scalar, OutOfRangeError for an axis outside of the shape (negative axes are not axes) */
export function requireAxis(axis: number, shape: readonly number[]): void {
  if (shape.length === 0)
    throw new ValueError('ERR_COLL_VALUE', 'gather: scalars have no axis to be joined along; give them shape [1]');
  if (Number.isInteger(axis) && axis >= 0 && axis < shape.length) return;
  throw new OutOfRangeError(`gather: axis ${axis} is not one of the ${shape.length} axes of shape [${shape}]`, {
    operation: 'gather',
  });
}

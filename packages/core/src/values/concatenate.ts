import { AssertionError } from '../support/errors.js';
import { allocateUnset, byteSize, viewOf } from './dtype.js';
import { copyElements, elementCount, type Tensor } from './tensor.js';

/**
 * Concatenates all elements of tensors of one dtype, in new memory on the first tensor's device.
 * The result has one dimension.
 * @throws AssertionError for an empty list, and for different dtypes
 */
export function concatenate(tensors: readonly Tensor[]): Tensor {
  const [first] = tensors;
  const odd = tensors.find((tensor) => tensor.dtype !== first?.dtype);
  if (!first || odd) {
    throw new AssertionError(
      'ERR_COLL_INTERNAL',
      first
        ? `${first.dtype} and ${odd?.dtype} tensors cannot share a pack`
        : 'a pack must contain at least one tensor',
    );
  }
  const length = tensors.reduce((sum, tensor) => sum + tensor.data.length, 0);
  const joined = {
    data: allocateUnset(first.dtype, length),
    dtype: first.dtype,
    shape: [length],
    device: first.device,
  };
  splitLike(joined, tensors).forEach((part, index) => {
    copyElements(part.data, (tensors[index] as Tensor).data);
  });
  return joined;
}

/** Splits a flat tensor into views, in order, with the shapes of the given tensors. */
export function splitLike(joined: Tensor, tensors: readonly { readonly shape: readonly number[] }[]): Tensor[] {
  let begin = 0;
  return tensors.map(({ shape }) => {
    const length = elementCount(shape);
    const part = { ...slice(joined, begin, begin + length), shape };
    begin += length;
    return part;
  });
}

/** A view of elements `[begin, end)` of a flat tensor. */
export function slice(tensor: Tensor, begin: number, end: number): Tensor {
  const { data, dtype } = tensor;
  const view = viewOf(dtype, data.buffer, data.byteOffset + begin * byteSize(dtype), end - begin);
  return { data: view, dtype, shape: [end - begin], device: tensor.device };
}

import { type Tensor, ValueError } from '@coll/core';
import { quote, requireTensorLists } from '@coll/core/internal';

/** Tensors by size, each in lists by device. */
export interface SplitGrads {
  readonly small: readonly (readonly Tensor[])[];
  readonly large: readonly (readonly Tensor[])[];
}

/**
 * Splits lists of tensors, one per device and with equal shapes, in two: tensors of at most
 * `thresholdSize` elements, and the others, in order.
 * @throws ValueError for lists of different lengths, and anything but lists of tensors
 *
 * @example
 * ```ts
 * import { zeros } from '@coll/core';
 * import { splitGradsBySize } from '@coll/multi-worker';
 *
 * const gradients = [zeros('float32', [4]), zeros('float32', [100]), zeros('float32', [2, 3])];
 * const { small, large } = splitGradsBySize(10, [gradients]);
 * console.log(small[0]?.length, large[0]?.length); // 2 1
 * ```
 */
export function splitGradsBySize(thresholdSize: number, deviceGrads: readonly (readonly Tensor[])[]): SplitGrads {
  if (typeof thresholdSize !== 'number')
    throw new ValueError('ERR_COLL_VALUE', `thresholdSize must be a number of elements, got ${quote(thresholdSize)}`);
  requireTensorLists(deviceGrads, 'deviceGrads');
  const [first = []] = deviceGrads;
  if (deviceGrads.some((tensors) => tensors.length !== first.length)) {
    throw new ValueError('ERR_COLL_VALUE', 'every device must have the same number of tensors');
  }
  const isSmall = (index: number) => (first[index] as Tensor).data.length <= thresholdSize;
  return {
    small: deviceGrads.map((tensors) => tensors.filter((_, index) => isSmall(index))),
    large: deviceGrads.map((tensors) => tensors.filter((_, index) => !isSmall(index))),
  };
}

import { type Tensor, ValueError } from '@coll/core';
import { quote, requireTensorLists } from '@coll/core/internal';

/** Tensors split by size: the small ones and the large ones, each as one list per device. */
export interface SplitGrads {
  readonly small: readonly (readonly Tensor[])[];
  readonly large: readonly (readonly Tensor[])[];
}

/**
 * Splits each device's list of tensors in two: tensors of at most `thresholdSize` elements, and
 * larger ones, in the original order. Shapes must be equal on all devices.
 * @throws ValueError unless `deviceGrads` are lists of tensors of equal length
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

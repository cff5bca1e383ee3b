import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { requireList } from '../support/requirements.js';
import { byteLength, type Tensor } from '../values/tensor.js';

/** Runs of consecutive numbers in a list, and the numbers outside of all runs. */
export interface Ranges {
  /** First and last number of each run, both included. */
  readonly ranges: readonly (readonly [first: number, last: number])[];
  readonly singles: readonly number[];
}

/**
 * Runs of consecutive numbers in an increasing list. As in TensorFlow, a run grows while the
 * difference of its last and first number is at most `rangeSizeLimit` (default: 32), so it can
 * reach `rangeSizeLimit + 2` numbers.
 * @throws ValueError for anything but a list of numbers
 *
 * @example
 * ```ts
 * import { extractRanges } from '@coll/core';
 *
 * const { ranges, singles } = extractRanges([1, 2, 3, 7, 9, 10]);
 * console.log(ranges); // [ [ 1, 3 ], [ 9, 10 ] ]
 * console.log(singles); // [ 7 ]
 * ```
 */
export function extractRanges(indices: readonly number[], rangeSizeLimit = 32): Ranges {
  requireList(indices, 'indices');
  if (!indices.every((index) => typeof index === 'number'))
    throw new ValueError('ERR_COLL_VALUE', `indices must be numbers, got ${quote(indices)}`);
  const ranges: (readonly [number, number])[] = [];
  const singles: number[] = [];
  const [start, ...others] = indices;
  if (start === undefined) return { ranges, singles };
  let [first, last] = [start, start];
  const close = () => {
    if (last > first) ranges.push([first, last]);
    else singles.push(first);
  };
  for (const index of others) {
    const extends_ = index === last + 1 && last - first <= rangeSizeLimit;
    if (!extends_) {
      close();
      first = index;
    }
    last = index;
  }
  close();
  return { ranges, singles };
}

/**
 * First and last index of each run of neighbouring float32 tensors of at most `maxBytes` bytes
 * each. `maxGroup` is the `rangeSizeLimit` of `extractRanges`.
 */
export function smallRanges(tensors: readonly Tensor[], maxBytes: number, maxGroup: number): Ranges['ranges'] {
  const isSmall = (tensor: Tensor) => tensor.dtype === 'float32' && byteLength(tensor) <= maxBytes;
  const small = [...tensors.keys()].filter((index) => isSmall(tensors[index] as Tensor));
  return extractRanges(small, maxGroup).ranges;
}

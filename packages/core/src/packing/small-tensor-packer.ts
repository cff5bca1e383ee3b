import { ValueError } from '../errors.js';
import { byteLength, type Tensor } from '../tensor.js';
import { concatenate, splitLike } from './concatenate.js';
import type { Packer } from './packer.js';

export interface Ranges {
  /** First and last index of each run, both included. */
  readonly ranges: readonly (readonly [first: number, last: number])[];
  readonly singles: readonly number[];
}

/**
 * Runs of consecutive numbers in an increasing list. A run takes one more while its last minus its first is at most
 * `rangeSizeLimit`, as in the original, so it can reach `rangeSizeLimit + 2` members.
 */
export function extractRanges(indices: readonly number[], rangeSizeLimit = 32): Ranges {
  const ranges: (readonly [number, number])[] = [];
  const singles: number[] = [];
  let [first, last] = [indices[0], indices[0]];
  const close = () => {
    if (first === undefined || last === undefined) return;
    if (last > first) ranges.push([first, last]);
    else singles.push(first);
  };
  for (const index of indices.slice(1)) {
    const extends_ = index === (last as number) + 1 && (last as number) - (first as number) <= rangeSizeLimit;
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
 * Joins neighbours of at most `maxBytes` bytes of float32 into packs of about `maxGroup`, which come first; all other
 * tensors follow in order, untouched. What is small is decided by the first device's list.
 */
export class AggregateSmallTensorPacker implements Packer {
  readonly maxBytes: number;
  readonly maxGroup: number;
  #ranges: Ranges['ranges'] = [];
  #shapes: readonly (readonly number[])[] = [];

  /** @throws ValueError for a limit of 0 or less */
  constructor(maxBytes = 1_048_576, maxGroup = 16) {
    if (!(maxBytes > 0)) throw new ValueError('ERR_COLL_VALUE', `maxBytes must be greater than zero, not ${maxBytes}`);
    if (!(maxGroup > 0)) throw new ValueError('ERR_COLL_VALUE', `maxGroup must be greater than zero, not ${maxGroup}`);
    this.maxBytes = maxBytes;
    this.maxGroup = maxGroup;
  }

  pack(perDevice: readonly (readonly Tensor[])[]): Tensor[][] {
    const [first = []] = perDevice;
    const small = [...first.keys()].filter((index) => this.#isSmall(first[index] as Tensor));
    this.#ranges = extractRanges(small, this.maxGroup).ranges;
    this.#shapes = first.map((tensor) => tensor.shape);
    return perDevice.map((tensors) => [
      ...this.#ranges.map(([begin, end]) => concatenate(tensors.slice(begin, end + 1))),
      ...tensors.filter((_, index) => !this.#isPacked(index)),
    ]);
  }

  unpack(packed: readonly (readonly Tensor[])[]): Tensor[][] {
    return packed.map((packs) => {
      const parts = this.#ranges.flatMap(([begin, end], index) => {
        const shapes = this.#shapes.slice(begin, end + 1).map((shape) => ({ shape }));
        return splitLike(packs[index] as Tensor, shapes);
      });
      const others = packs.slice(this.#ranges.length);
      return this.#shapes.map((_, index) => (this.#isPacked(index) ? parts : others).shift() as Tensor);
    });
  }

  #isSmall(tensor: Tensor): boolean {
    return tensor.dtype === 'float32' && byteLength(tensor) <= this.maxBytes;
  }

  #isPacked(index: number): boolean {
    return this.#ranges.some(([begin, end]) => begin <= index && index <= end);
  }
}

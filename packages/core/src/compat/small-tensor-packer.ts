import type { Packer } from '../packing/packer.js';
import { type Ranges, smallRanges } from '../packing/small-ranges.js';
import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { concatenate, splitLike } from '../values/concatenate.js';
import type { Tensor } from '../values/tensor.js';
import { requireTensorLists } from '../values/tensor-lists.js';

/**
 * Joins neighbouring float32 tensors of at most `maxBytes` bytes each into packs of at most
 * `maxGroup + 2` tensors, as in TensorFlow. The packs come first; all other tensors follow in
 * order, unchanged. The first device's list determines which tensors are small.
 *
 * @example
 * ```ts
 * import { AggregateSmallTensorPacker, tensor, toNumbers, zeros } from '@coll/core';
 *
 * const packer = new AggregateSmallTensorPacker(16); // at most 16 bytes are small
 * const packs = packer.pack([[tensor([1, 2]), tensor([3]), zeros('float32', [100])]]);
 * console.log(packs[0]?.map(({ shape }) => shape)); // [ [ 2 ], [ 1 ], [ 100 ] ]
 * console.log(packer.unpack(packs)[0]?.slice(0, 2).map(toNumbers)); // [ [ 1, 2 ], [ 3 ] ]
 * ```
 */
export class AggregateSmallTensorPacker implements Packer {
  readonly maxBytes: number;
  readonly maxGroup: number;
  #ranges: Ranges['ranges'] = [];
  #shapes: readonly (readonly number[])[] = [];

  /** The defaults are 1 MiB and 16. @throws ValueError unless both limits are numbers > 0 */
  constructor(maxBytes = 1_048_576, maxGroup = 16) {
    requireLimit('maxBytes', maxBytes);
    requireLimit('maxGroup', maxGroup);
    this.maxBytes = maxBytes;
    this.maxGroup = maxGroup;
  }

  /**
   * Packs the tensors of each device: first the joined small tensors, then all others in order.
   * @throws ValueError unless `perDevice` has a list of tensors per device
   */
  pack(perDevice: readonly (readonly Tensor[])[]): Tensor[][] {
    requireTensorLists(perDevice, 'perDevice');
    const [first = []] = perDevice;
    this.#ranges = smallRanges(first, this.maxBytes, this.maxGroup);
    this.#shapes = first.map((tensor) => tensor.shape);
    return perDevice.map((tensors) => [
      ...this.#ranges.map(([begin, end]) => concatenate(tensors.slice(begin, end + 1))),
      ...tensors.filter((_, index) => !this.#isPacked(index)),
    ]);
  }

  /**
   * Unpacks the tensors of each device, in their original order and shapes.
   * @throws ValueError unless `packed` has a list of tensors per device
   */
  unpack(packed: readonly (readonly Tensor[])[]): Tensor[][] {
    requireTensorLists(packed, 'packed');
    return packed.map((packs) => {
      const parts = this.#ranges.flatMap(([begin, end], index) => {
        const shapes = this.#shapes.slice(begin, end + 1).map((shape) => ({ shape }));
        return splitLike(packs[index] as Tensor, shapes);
      });
      const others = packs.slice(this.#ranges.length);
      return this.#shapes.map((_, index) => (this.#isPacked(index) ? parts : others).shift() as Tensor);
    });
  }

  #isPacked(index: number): boolean {
    return this.#ranges.some(([begin, end]) => begin <= index && index <= end);
  }
}

function requireLimit(name: string, limit: unknown): void {
  if (typeof limit === 'number' && limit > 0) return;
  throw new ValueError('ERR_COLL_VALUE', `${name} must be greater than zero, got ${quote(limit)}`);
}

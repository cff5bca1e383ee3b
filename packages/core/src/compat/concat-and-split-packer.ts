import { cutEvenly } from '../packing/arrangement.js';
import type { Packer } from '../packing/packer.js';
import { AssertionError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { concatenate, slice, splitLike } from '../values/concatenate.js';
import { elementCount, type Tensor } from '../values/tensor.js';
import { requireTensorLists } from '../values/tensor-lists.js';

// Upper limit; more packs are never useful.
const mostPacks = 2 ** 16;

/**
 * Joins all tensors of a device, which must have one dtype, and cuts the result into exactly
 * `numPacks` packs. Of T elements in total, each pack has floor(T / numPacks), and the last also
 * takes the remainder. With fewer elements than packs, all packs but the last are empty. Unpacked
 * tensors are views of the pack if there is only one, otherwise of new memory.
 *
 * @example
 * ```ts
 * import { ConcatAndSplitPacker, tensor, toNumbers } from '@coll/core';
 *
 * const packer = new ConcatAndSplitPacker(2);
 * const packs = packer.pack([[tensor([1, 2, 3]), tensor([4, 5])]]);
 * console.log(packs[0]?.map(toNumbers)); // [ [ 1, 2 ], [ 3, 4, 5 ] ]
 * console.log(packer.unpack(packs)[0]?.map(toNumbers)); // [ [ 1, 2, 3 ], [ 4, 5 ] ]
 * ```
 */
export class ConcatAndSplitPacker implements Packer {
  readonly numPacks: number;
  #shapes: readonly (readonly number[])[] = [];

  /** @throws ValueError unless `numPacks` is a whole number from 1 to 65,536 */
  constructor(numPacks: number) {
    const isCount = Number.isInteger(numPacks) && numPacks > 0;
    if (!isCount) throw new ValueError('ERR_COLL_VALUE', `numPacks must be greater than zero, got ${quote(numPacks)}`);
    if (numPacks > mostPacks)
      throw new ValueError('ERR_COLL_VALUE', `numPacks must be at most ${mostPacks}, got ${numPacks}`);
    this.numPacks = numPacks;
  }

  /**
   * Packs the tensors of each device into `numPacks` packs.
   * @throws ValueError unless `perDevice` has a list of tensors per device; AssertionError if a
   * list is empty or has several dtypes
   */
  pack(perDevice: readonly (readonly Tensor[])[]): Tensor[][] {
    requireTensorLists(perDevice, 'perDevice');
    this.#shapes = (perDevice[0] ?? []).map((tensor) => tensor.shape);
    return perDevice.map((tensors) => {
      const joined = concatenate(tensors);
      const packs = new Map(
        cutEvenly([joined.data.length], this.numPacks).map((pack) => [pack.number, pack.pieces[0]]),
      );
      return Array.from({ length: this.numPacks }, (_, number) => {
        const { begin, end } = packs.get(number) ?? { begin: 0, end: 0 };
        return slice(joined, begin, end);
      });
    });
  }

  /**
   * Unpacks the tensors of each device, in their original order and shapes.
   * @throws ValueError unless `packed` has a list of tensors per device; AssertionError if their
   * number of elements differs from the packed number
   */
  unpack(packed: readonly (readonly Tensor[])[]): Tensor[][] {
    requireTensorLists(packed, 'packed');
    const total = this.#shapes.reduce((sum, shape) => sum + elementCount(shape), 0);
    return packed.map((packs) => {
      const joined = packs.length === 1 ? (packs[0] as Tensor) : concatenate(packs);
      if (joined.data.length !== total)
        throw new AssertionError(
          'ERR_COLL_INTERNAL',
          `got ${joined.data.length} elements to unpack, but ${total} were packed`,
        );
      return splitLike(
        joined,
        this.#shapes.map((shape) => ({ shape })),
      );
    });
  }
}

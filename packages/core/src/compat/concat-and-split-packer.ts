import { cutEvenly } from '../packing/arrangement.js';
import { concatenate, slice, splitLike } from '../packing/concatenate.js';
import type { Packer } from '../packing/packer.js';
import { AssertionError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { requireTensorLists } from '../support/requirements.js';
import { elementCount, type Tensor } from '../values/tensor.js';

// Upper limit; more packs are never useful.
const mostPacks = 2 ** 16;

/**
 * Joins all tensors of a device, which have one dtype, and cuts the result into exactly `numPacks`
 * packs of floor(T / numPacks) elements; the last takes the remainder. With fewer elements than
 * packs, all but the last are empty. Unpacked tensors are views of the packs if all packs lie in
 * one buffer, as after a collective on all packs.
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

  /** The packs of each device, from its tensors: `numPacks` packs, of which the last takes the remainder. */
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

  /** Unpacks the tensors of each device, in their original order and shapes. */
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

import { requireBytesPerPack } from '../collectives/communication-options.js';
import { OpenPacks } from '../packing/open-packs.js';
import type { Tensor } from '../values/tensor.js';
import { requireTensors } from '../values/tensor-lists.js';

/**
 * Cuts a list into packs, in order. A pack is closed once it holds **more** than `bytesPerPack`
 * bytes, so a pack of exactly `bytesPerPack` bytes still grows, and only the last pack can hold
 * that many bytes or fewer. No tensor is split. 0 means one pack.
 * @throws ValueError unless the arguments are a list of tensors and a whole number of bytes from 0
 *
 * @example
 * ```ts
 * import { groupBySize, zeros } from '@coll/core';
 *
 * const gradients = [zeros('float32', [4]), zeros('float32', [4]), zeros('float32', [2])];
 * const packs = groupBySize(gradients, 16);
 * console.log(packs.map((pack) => pack.length)); // [ 2, 1 ]
 * ```
 */
export function groupBySize<T extends Tensor>(tensors: readonly T[], bytesPerPack: number): T[][] {
  requireTensors(tensors, 'tensors');
  requireBytesPerPack(bytesPerPack);
  if (bytesPerPack === 0) return [[...tensors]];
  const packs = new OpenPacks<T>(bytesPerPack);
  const closed = tensors.flatMap((tensor) => {
    const pack = packs.add(tensor, tensor, 'all');
    return pack ? [pack] : [];
  });
  return [...closed, ...packs.rest()];
}

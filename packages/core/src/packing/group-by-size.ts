import { ValueError } from '../errors.js';
import { quote } from '../quote.js';
import { requireTensors } from '../requirements.js';
import type { Tensor } from '../tensor.js';
import { OpenPacks } from './open-packs.js';

/**
 * Cuts a list into packs, in order. A pack is closed once it holds **more** than `bytesPerPack` bytes, so one that lands
 * exactly on the limit keeps growing, and only the last can end below it. No tensor is split. 0: everything in one pack.
 * @throws ValueError for anything but a list of tensors and a number of bytes
 */
export function groupBySize<T extends Tensor>(tensors: readonly T[], bytesPerPack: number): T[][] {
  requireTensors(tensors, 'tensors');
  if (!(typeof bytesPerPack === 'number' && bytesPerPack >= 0))
    throw new ValueError('ERR_COLL_VALUE', `bytesPerPack must be 0 or more bytes, got ${quote(bytesPerPack)}`);
  if (bytesPerPack === 0) return [[...tensors]];
  const packs = new OpenPacks<T>(bytesPerPack);
  const closed = tensors.flatMap((tensor) => {
    const pack = packs.add(tensor, tensor, 'all');
    return pack ? [pack] : [];
  });
  return [...closed, ...packs.rest()];
}

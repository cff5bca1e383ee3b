import { byteLength, type Tensor } from '../tensor.js';

/**
 * Cuts a list into packs, in order. A pack is closed once it holds **more** than `bytesPerPack` bytes, so one that lands
 * exactly on the limit keeps growing, and only the last can end below it. No tensor is split. 0: everything in one pack.
 */
export function groupBySize<T extends Tensor>(tensors: readonly T[], bytesPerPack: number): T[][] {
  if (bytesPerPack === 0) return [[...tensors]];
  const packs: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const tensor of tensors) {
    if (bytes > bytesPerPack) {
      packs.push([]);
      bytes = 0;
    }
    packs[packs.length - 1]?.push(tensor);
    bytes += byteLength(tensor);
  }
  return packs;
}

import { byteLength, type Tensor } from '../values/tensor.js';

/**
 * Packs that are filled tensor by tensor. A pack is closed once it holds **more** than
 * `bytesPerPack` bytes, so a pack of exactly `bytesPerPack` bytes still grows. Tensors of different
 * keys, such as dtypes, never share a pack; no tensor is split.
 */
export class OpenPacks<Item> {
  readonly #bytesPerPack: number;
  readonly #open = new Map<string, { readonly items: Item[]; bytes: number }>();

  constructor(bytesPerPack: number) {
    this.#bytesPerPack = bytesPerPack;
  }

  /** Adds an item for `tensor`. Returns the items of the pack if this item closes the pack, otherwise undefined. */
  add(item: Item, tensor: Tensor, key: string = tensor.dtype): Item[] | undefined {
    const pack = this.#open.get(key) ?? { items: [], bytes: 0 };
    this.#open.set(key, pack);
    pack.items.push(item);
    pack.bytes += byteLength(tensor);
    if (pack.bytes <= this.#bytesPerPack) return undefined;
    this.#open.delete(key);
    return pack.items;
  }

  /** Closes the remaining packs, in the order in which they were begun. */
  rest(): Item[][] {
    const left = [...this.#open.values()].map(({ items }) => items);
    this.#open.clear();
    return left;
  }
}

import { GpuMemory } from './gpu-memory.js';

/** Memory of GPUs in which host tensors pass through: kept for calls to come. */
export class ScratchMemory {
  readonly #free = new Map<number, GpuMemory[]>();

  /** At least so many bytes on a GPU. */
  take(device: number, bytes: number): GpuMemory {
    const free = this.#free.get(device) ?? [];
    const fitting = free.findIndex(({ byteLength }) => byteLength >= bytes);
    if (fitting >= 0) return free.splice(fitting, 1)[0] as GpuMemory;
    // Sizes of few kinds, so that memory of one call serves another.
    return GpuMemory.allocate(device, 2 ** Math.ceil(Math.log2(Math.max(bytes, 4096))));
  }

  /** Takes memory back that nothing has spoiled. */
  giveBack(memory: GpuMemory): void {
    const free = this.#free.get(memory.device);
    if (free) free.push(memory);
    else this.#free.set(memory.device, [memory]);
  }

  /** Gives all of it back to the driver. */
  free(): void {
    for (const list of this.#free.values()) for (const memory of list) memory.free();
    this.#free.clear();
  }
}

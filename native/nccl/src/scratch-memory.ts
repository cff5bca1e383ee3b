import { GpuMemory } from './gpu-memory.js';

/** GPU memory for copies of host tensors; kept for later calls. */
export class ScratchMemory {
  readonly #free = new Map<number, GpuMemory[]>();

  /** Returns memory of at least `bytes` bytes. */
  take(device: number, bytes: number): GpuMemory {
    const free = this.#free.get(device) ?? [];
    const fitting = free.findIndex(({ byteLength }) => byteLength >= bytes);
    if (fitting >= 0) return free.splice(fitting, 1)[0] as GpuMemory;
    // Sizes are rounded up to powers of two, so that later calls can reuse memory.
    return GpuMemory.allocate(device, 2 ** Math.ceil(Math.log2(Math.max(bytes, 4096))));
  }

  /** Keeps memory for later calls. The memory must not have been used by a failed operation. */
  giveBack(memory: GpuMemory): void {
    const free = this.#free.get(memory.device);
    if (free) free.push(memory);
    else this.#free.set(memory.device, [memory]);
  }

  /** Frees all memory that is kept. */
  free(): void {
    for (const list of this.#free.values()) for (const memory of list) memory.free();
    this.#free.clear();
  }
}

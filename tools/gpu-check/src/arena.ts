import { type DeviceBuffer, type Gpu, gpus, probe } from '@coll/nccl';

/** Memory of the GPU to work through, from one end to the other, so that no cache holds it. */
export class Arena implements Disposable {
  readonly from: DeviceBuffer;
  readonly into: DeviceBuffer;

  private constructor(gpu: Gpu, mebibytes: number) {
    this.from = gpu.alloc('float32', mebibytes * 2 ** 18);
    this.into = gpu.alloc('float32', mebibytes * 2 ** 18);
  }

  static async of(mebibytes: number): Promise<Arena> {
    const arena = new Arena(gpus()[0] as Gpu, mebibytes);
    await Promise.all([arena.from.fill(1), arena.into.fill(1)]);
    return arena;
  }

  /** The byte at which a piece begins: pieces follow each other, and begin again at the end. */
  place(number: number, bytes: number): number {
    return (number % this.places(bytes)) * bytes;
  }

  places(bytes: number): number {
    return Math.max(1, Math.floor(this.from.byteLength / bytes));
  }

  [Symbol.dispose](): void {
    this.from.dispose();
    this.into.dispose();
  }
}

/** How much is done: on a test double enough to see that it goes through. */
export function amount<T>(onGpu: T, onDouble: T): T {
  return probe().isDouble ? onDouble : onGpu;
}

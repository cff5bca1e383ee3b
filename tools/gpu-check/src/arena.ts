import { type DeviceBuffer, type Gpu, gpus, probe } from '@coll/nccl';

/** A large area of GPU memory. Calls walk through it, so that no cache of the GPU holds their data. */
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

  /** The byte offset of a piece. Pieces follow each other, and start again at the beginning of the area. */
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

/**
 * An amount of work: `onGpu` on a GPU, or the smaller `onDouble` on a test double, which shows only that
 * the code runs.
 */
export function amount<T>(onGpu: T, onDouble: T): T {
  return probe().isDouble ? onDouble : onGpu;
}

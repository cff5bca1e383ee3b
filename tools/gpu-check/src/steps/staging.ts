import { type Gpu, gpus } from '@coll/nccl';
import type { Facts, Step } from '../step.js';

const sizes = [2 ** 20, 8 * 2 ** 20, 64 * 2 ** 20, 512 * 2 ** 20];
const repetitions = 20;

/** How fast memory moves to the GPU and back, with pinned memory of the host and with any other. */
export const staging: Step = {
  claim: 'the speed of copies to and from the GPU, as far as the machine was idle',
  seconds: 300,
  isBenchmark: true,
  async run() {
    const [gpu] = gpus() as [Gpu];
    const rows: Facts[] = [];
    for (const bytes of sizes) {
      const length = bytes / 4;
      using buffer = gpu.alloc('float32', length);
      using other = gpu.alloc('float32', length);
      using pinned = await gpu.allocHost('float32', length);
      const pageable = new Float32Array(length).fill(1);
      const speed = async (move: () => Promise<unknown>) => gigabytesPerSecond(bytes, await median(move));
      rows.push({
        bytes,
        writePinned: await speed(() => buffer.write(pinned.array)),
        readPinned: await speed(() => buffer.read(pinned.array)),
        writePageable: await speed(() => buffer.write(pageable)),
        readPageable: await speed(() => buffer.read(pageable)),
        copyOnGpu: await speed(() => other.copyFrom(buffer)),
      });
    }
    return { unit: 'GB/s of one direction', repetitions, rows };
  },
};

/** Milliseconds. */
async function median(move: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < repetitions + 3; at++) {
    const begin = performance.now();
    await move();
    if (at >= 3) times.push(performance.now() - begin);
  }
  return times.sort((a, b) => a - b)[repetitions / 2] as number;
}

function gigabytesPerSecond(bytes: number, milliseconds: number): number {
  return Number((bytes / milliseconds / 1e6).toPrecision(4));
}

import { counts, type Gpu } from '@coll/nccl';
import { amount } from './arena.js';
import { atMost, type Expectation } from './expectation.js';

// The driver allocates memory in granules of this size. A test double counts every byte.
const granuleMebibytes = () => amount(2, 0);
const usualPatienceMillis = 20_000;

/** The objects of this process, and the free memory of the GPU. */
export interface Held {
  readonly objects: number;
  readonly mebibytesLeft: number;
}

export async function held(gpu: Gpu): Promise<Held> {
  const { buffers, communicators, unsettled } = counts();
  const { free } = await gpu.memory();
  return { objects: buffers + communicators + unsettled, mebibytesLeft: free / 2 ** 20 };
}

/**
 * Expects that this process holds no more objects and memory than before. Waits a while, because memory may
 * be freed later.
 */
export async function nothingLeft(
  gpu: Gpu,
  before: Held,
  patienceMillis = usualPatienceMillis,
): Promise<readonly Expectation[]> {
  const end = performance.now() + patienceMillis;
  for (;;) {
    const now = await held(gpu);
    const all = [
      atMost(0, 'objects', 'buffers, communicators and operations more than before', now.objects - before.objects),
      atMost(granuleMebibytes(), 'MiB', 'memory of the GPU less than before', before.mebibytesLeft - now.mebibytesLeft),
    ];
    if (all.every(({ isMet }) => isMet) || performance.now() > end) return all;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

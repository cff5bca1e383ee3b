import { counts, type Gpu } from '@coll/nccl';
import { amount } from './arena.js';
import { atMost, type Expectation } from './expectation.js';

// What the driver hands out at once. A test double knows every byte.
const granuleMebibytes = () => amount(2, 0);
const usualPatienceMillis = 20_000;

/** What this process holds, and what the driver says is left. */
export interface Held {
  readonly objects: number;
  readonly mebibytesLeft: number;
}

export async function held(gpu: Gpu): Promise<Held> {
  const { buffers, communicators, unsettled } = counts();
  const { free } = await gpu.memory();
  return { objects: buffers + communicators + unsettled, mebibytesLeft: free / 2 ** 20 };
}

/** That no more is held than before. What is given back may be so a little later. */
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

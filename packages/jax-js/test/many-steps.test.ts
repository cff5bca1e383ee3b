import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { expect, it } from 'vitest';
import type { MemoryUse } from './fixtures/many-steps.ts';

it('memory is flat over 5,000 steps, of jax-js and of the process', async () => {
  await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });
  const module = new URL('./fixtures/many-steps.ts', import.meta.url);
  const results = await strategy.run<typeof import('./fixtures/many-steps.ts')>(module, { args: [5000] });
  for (const { arrays, early, late } of strategy.experimentalLocalResults(results) as MemoryUse[]) {
    // References that a step left behind would be thousands.
    expect(arrays).toEqual([1, 1, 1, 1]);
    expect(late.heap - early.heap).toBeLessThan(2 ** 22);
    expect(late.jax).toBe(early.jax);
  }
});

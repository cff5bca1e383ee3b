import { type Gpu, gpus } from '@coll/nccl';
import { describe, expect, it } from 'vitest';
import '../../../native/nccl/test/doubles.ts';
import { held, nothingLeft } from '../src/held.js';

describe('GPU memory that is still allocated', () => {
  it('is reported until it is released', async () => {
    const [gpu] = gpus() as [Gpu];
    const before = await held(gpu);
    const buffer = gpu.alloc('float32', 2 ** 18);
    await buffer.fill(1);
    const missed = await nothingLeft(gpu, before, 0);
    expect(missed.map(({ figure, isMet }) => [figure, isMet])).toEqual([
      [1, false],
      [1, false],
    ]);
    buffer.dispose();
    const rest = await nothingLeft(gpu, before);
    expect(rest.map(({ figure, isMet }) => [figure, isMet])).toEqual([
      [0, true],
      [0, true],
    ]);
  });
});

import { tensor } from '@coll/core';
import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { describe, expect, it } from 'vitest';
import type { Input, reads, takes } from './fixtures/reads-input.js';

const module = new URL('./fixtures/reads-input.ts', import.meta.url);
const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1', 'cpu:2'], crossDeviceOps: direct });

async function run<Fn extends (...args: never) => unknown>(exportName: string, arg: unknown) {
  const results = await strategy.run(module, { exportName, args: [arg] });
  return strategy.experimentalLocalResults(results) as Awaited<ReturnType<Fn>>[];
}

describe('replicas in threads', () => {
  it('read their shares of one dataset, in shared memory', async () => {
    const width = 2;
    const samples = Float32Array.from({ length: 17 * width }, (_, index) => index);
    const shared = new Float32Array(new SharedArrayBuffer(samples.byteLength));
    shared.set(samples);
    const results = await run<typeof reads>('reads', { samples: shared, width, globalBatchSize: 7 } satisfies Input);
    for (const { epochs, isShared } of results) {
      expect(isShared).toBe(true);
      expect(epochs[1]).toEqual(epochs[0]);
    }
    const first = results.map(({ epochs }) => epochs[0] ?? []);
    expect(first.map((steps) => steps.map(({ length }) => length / width))).toEqual([
      [3, 3, 1],
      [2, 2, 1],
      [2, 2, 1],
    ]);
    const inOrder = [0, 1, 2].flatMap((step) => first.flatMap((steps) => Array.from(steps[step] ?? [])));
    expect(inOrder).toEqual(Array.from(samples));
  });

  it('receive their components of a distributed batch as an argument', async () => {
    const x = tensor(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8), { shape: [4, 2] });
    for await (const step of strategy.experimentalDistributeDataset([{ x, names: ['a', 'b', 'c', 'd'] }])) {
      const results = await run<typeof takes>('takes', step);
      expect(results.map(({ names }) => names)).toEqual(['a,b', 'c', 'd']);
      expect(results.map((result) => result.x)).toMatchObject([
        { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] },
        { data: Float32Array.of(5, 6), shape: [1, 2] },
        { data: Float32Array.of(7, 8), shape: [1, 2] },
      ]);
    }
  });
});

import '@coll/direct/register';
import { MirroredStrategy } from '@coll/strategy';
import { afterAll, describe, expect, it, vi } from 'vitest';
import * as addition from './addition.ts';
import * as digits from './digits.ts';
import * as houses from './houses.ts';
import * as pole from './pole.ts';

const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });

afterAll(() => strategy.close());

async function inReplicas<Result>(program: string, ...args: readonly unknown[]): Promise<readonly Result[]> {
  const module = new URL(`./${program}-parallel.ts`, import.meta.url);
  return strategy.experimentalLocalResults(await strategy.run(module, { args })) as readonly Result[];
}

describe('the gallery', () => {
  it.each([
    ['digits', digits.train],
    ['addition', addition.train],
    ['houses', houses.train],
  ] as const)('has the same losses of %s in two replicas as in one thread', async (program, train) => {
    vi.spyOn(console, 'log').mockReturnValue();
    const losses = await train();
    const replicas = await inReplicas<number[]>(program);
    expect(losses.at(-1)).toBeLessThan(losses[0] as number);
    expect(replicas[1]).toEqual(replicas[0]);
    for (const [epoch, loss] of losses.entries()) expect(replicas[0]?.[epoch]).toBeCloseTo(loss, 4);
  });

  it('has the same weights and figures in all replicas that play games of their own', async () => {
    const [first, second] = await inReplicas<{ lengths: number[]; weights: Float32Array }>('pole', 5, 4);
    const alone = await pole.train(1, 4);
    expect([first?.lengths.length, first?.weights.length]).toEqual([5, alone.weights.length]);
    expect(second).toEqual(first);
  });
});

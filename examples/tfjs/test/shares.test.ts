import { MirroredStrategy } from '@coll/strategy';
import { expect, it } from 'vitest';
import { points } from '../data.ts';
import type * as fixture from './returns-points.ts';

const module = new URL('./returns-points.ts', import.meta.url);

type Row = readonly [x: number, y: number];

/** No replica trains on a point of the test or of another replica, and all have the same test. */
function expectNoLeak(replicas: readonly (readonly [readonly Row[], readonly Row[]])[]): void {
  const train = replicas.flatMap(([own]) => own).map(String);
  const [first = [], ...others] = replicas.map(([, test]) => test.map(String));
  for (const test of others) expect(test).toEqual(first);
  expect([train.length, first.length]).toEqual([1023, 256]);
  expect(new Set([...train, ...first]).size).toBe(1023 + 256);
}

it('replicas in threads train on each point once, and on none of the test', async () => {
  await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
  const received = await strategy.run<typeof fixture>(module);
  expectNoLeak(strategy.experimentalLocalResults(received).map((json) => JSON.parse(json)));
});

it('replicas of several processes load the same points', () => {
  const [first, second] = [points(), points()];
  for (const part of ['train', 'test'] as const)
    for (const name of ['xs', 'ys'] as const)
      expect(second[part][name].dataSync()).toEqual(first[part][name].dataSync());
});

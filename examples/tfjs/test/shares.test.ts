import { MirroredStrategy, type Strategy } from '@coll/strategy';
import { afterEach, expect, it } from 'vitest';
import { closeGroups, workersHere } from '../../../packages/strategy/test/workers-here.ts';
import { points } from '../data.ts';
import { shares } from '../shares.ts';
import type * as fixture from './returns-points.ts';

afterEach(closeGroups);

const module = new URL('./returns-points.ts', import.meta.url);

interface Received {
  readonly xs: readonly number[];
  readonly ys: readonly number[];
}

const names = ({ xs, ys }: { readonly xs: ArrayLike<number>; readonly ys: ArrayLike<number> }) =>
  Array.from(ys, (_, at) => `${xs[2 * at]} ${xs[2 * at + 1]}`);

/** No replica trains on a point of the test or of another replica, and all have the same test. */
function expectNoLeak(replicas: readonly (readonly Received[])[]): void {
  const train = replicas.flatMap(([own]) => names(own as Received));
  const [first, ...others] = replicas.map(([, test]) => names(test as Received));
  for (const test of others) expect(test).toEqual(first);
  expect([train.length, first?.length]).toEqual([1024, 256]);
  expect(new Set([...train, ...(first as string[])]).size).toBe(1024 + 256);
}

it('the data is in another order each time it is loaded', () => {
  expect(points().train.xs).not.toEqual(points().train.xs);
});

it('replicas in threads train on no point of the test', async () => {
  await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
  const received = await strategy.run<typeof fixture>(module, { args: await shares(strategy) });
  expectNoLeak(strategy.experimentalLocalResults(received).map((json) => JSON.parse(json)));
});

it('replicas of several processes train on no point of the test', async () => {
  const strategies: Strategy[] = await workersHere(2, 2);
  const received = await Promise.all(strategies.map(shares));
  expectNoLeak(received.flatMap(([train, test]) => train.values.map((own) => [own, test] as never)));
});

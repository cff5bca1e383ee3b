import { afterAll, describe, expect, it } from 'vitest';
import type { Case, fromReplica, refused, shuffled, Way } from './fixtures/shares.ts';
import { expectEqual, sharesModule, threads, trainedBy } from './shared-training.ts';

const ways: readonly Way[] = ['fit', 'fitWithOptions', 'fitDataset', 'trainOnBatch', 'minimize'];

const two = threads(2);
afterAll(() => two.close());

/** Runs a function of the fixture on two replicas, and returns the results. */
async function resultsOf<Replica extends (...args: never[]) => unknown>(
  exportName: string,
  args: readonly unknown[] = [],
): Promise<Awaited<ReturnType<Replica>>[]> {
  const results = await two.run(sharesModule, { exportName, args });
  return two.experimentalLocalResults(results) as Awaited<ReturnType<Replica>>[];
}

describe('shares of rows that do not divide', () => {
  it('train like the whole data in fit, fitDataset and own loops, in which a replica may have no row', async () => {
    const cases = ways.flatMap((way): Case[] => [
      [way, 65],
      [way, 1],
    ]);
    await using one = threads(1);
    const alone = await trainedBy(one, cases);
    const together = await trainedBy(two, cases);
    for (const [index, [, rows]] of cases.entries())
      expectEqual(together[index] ?? [], alone[index]?.[0] as never, rows);
  });

  it('train in fits with a shuffle, a validation split, weights of classes and labels of one axis', async () => {
    const results = await resultsOf<typeof shuffled>('shuffled', [9]);
    expect(results[1]?.weights).toEqual(results[0]?.weights);
    expect(results[0]?.weights.every(Number.isFinite)).toBe(true);
  });
});

it('calls that would lose or repeat samples are refused on all replicas, with what to do', async () => {
  const messages = await resultsOf<typeof refused>('refused');
  // Equal results of all replicas are one result.
  expect(new Set(messages).size).toBe(1);
  expect(messages[0]?.split('\n')).toEqual(
    [
      /^ValueError: fit: the global batch must be a multiple of 2, .*got 65; use 64 or 66$/,
      /^NotImplementedError: fit: sampleWeight is not implemented by TensorFlow.js 4; use classWeight/,
      /^InvalidArgumentError: fit: all replicas must make the same number of steps, got 1 to 2; give replicas equally/,
      /^ValueError: replicas pass different data to shareOf, .*Seed the shuffle; or load .*; or share the data before/,
      /^ValueError: replicas read different first batches of a dataset, /,
      /^went through$/,
      /^went through$/,
      /^ValueError: shareOf has given replicas unequal numbers .*option samples .*distributedCallbacks.*rowsOf/,
      /^ValueError: shareOf has given replicas unequal numbers /,
      /^ValueError: fit: x must be what shareOf has returned, because some replicas repeat a row in shares of 4 rows/,
      /^went through$/,
      /^ValueError: shareOf has given replicas unequal numbers /,
    ].map((message) => expect.stringMatching(message)),
  );
});

it('shares of the data of one replica hold its rows', async () => {
  const results = await resultsOf<typeof fromReplica>('fromReplica');
  const [first, second] = results.map((text) => JSON.parse(text) as (readonly number[])[][]);
  for (const [root, place] of [
    [first, 1],
    [second, 2],
  ] as const) {
    const [drawn = []] = root ?? [];
    expect(first?.[place]).toEqual([drawn[0], drawn[2], drawn[4]]);
    expect(second?.[place]).toEqual([drawn[1], drawn[3], drawn[3]]);
  }
  const [drawn = []] = second ?? [];
  expect([first?.[3], second?.[3]]).toEqual([
    [drawn[0], drawn[2], drawn[4]],
    [drawn[1], drawn[3]],
  ]);
});

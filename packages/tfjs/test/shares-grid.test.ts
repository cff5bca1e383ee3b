import { beforeAll, expect, it } from 'vitest';
import type { Case, Trained, Way } from './fixtures/shares.ts';
import { expectEqual, threads, trainedBy } from './shared-training.ts';

const ways: readonly Way[] = ['fit', 'fitDataset', 'minimize'];
const cases: readonly Case[] = [
  ...ways.flatMap((way) => [65, 127, 1001].map((rows): Case => [way, rows])),
  ['fitWithOptions', 127],
  ['trainOnBatch', 127],
];

let alone: Trained[][];

beforeAll(async () => {
  await using strategy = threads(1);
  alone = await trainedBy(strategy, cases);
});

it.each([2, 3, 4])('%i replicas train on 65, 127 and 1001 rows like a single replica', async (replicas) => {
  await using strategy = threads(replicas);
  const together = await trainedBy(strategy, cases);
  for (const [index, [, rows]] of cases.entries()) {
    expect(together[index]).toHaveLength(replicas);
    expectEqual(together[index] ?? [], alone[index]?.[0] as never, rows);
  }
});

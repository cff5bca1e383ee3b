// Compares training on shares with training on the whole data.
import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { expect } from 'vitest';
import type { Case, Trained } from './fixtures/shares.ts';

export const sharesModule = new URL('./fixtures/shares.ts', import.meta.url);

export const threads = (replicas: number) =>
  new MirroredStrategy({
    devices: Array.from({ length: replicas }, (_, index) => `cpu:${index}`),
    crossDeviceOps: direct,
  });

/** For each case, what each replica has trained. */
export async function trainedBy(strategy: MirroredStrategy, cases: readonly Case[]): Promise<Trained[][]> {
  const results = await strategy.run(sharesModule, { args: [cases] });
  const byReplica = strategy.experimentalLocalResults(results) as Trained[][];
  return cases.map((_, index) => byReplica.map((ofReplica) => ofReplica[index] as Trained));
}

/** Losses, accuracies and weights of the replicas are those of a single replica, and all rows were used once. */
export function expectEqual(replicas: readonly Trained[], alone: Trained, rows: number): void {
  const [first, ...others] = replicas as [Trained, ...Trained[]];
  for (const { weights } of others) expect(weights).toEqual(first.weights);
  const sum = replicas.reduce((total, replica) => total + replica.rows, 0);
  expect([alone.rows, sum]).toEqual([rows, rows]);
  for (const name of ['losses', 'accuracies'] as const) {
    // A replica without rows has no mean.
    const weighted = (epoch: number) =>
      replicas.reduce((total, replica) => total + (replica.rows && (replica[name][epoch] as number) * replica.rows), 0);
    expectClose(
      alone[name].map((_, epoch) => weighted(epoch) / rows),
      alone[name],
    );
  }
  expectClose(first.weights, alone.weights);
}

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  expect(actual.length).toBe(expected.length);
  for (let at = 0; at < expected.length; at++) {
    const difference = Math.abs((actual[at] as number) - (expected[at] as number));
    expect(difference).toBeLessThan(1e-4);
  }
}

import { expect } from 'vitest';
import type { Epoch } from './fixtures/reads-files.js';

/** All items are read once in each epoch, and no step combines two epochs. */
export function expectWhole(readers: readonly (readonly Epoch[])[], lengths: readonly number[]): void {
  const all = lengths.flatMap((length, file) => Array.from({ length }, (_, at) => 100 * file + at));
  for (const epoch of [0, 1]) {
    const items = readers.flatMap((epochs) => epochs[epoch]?.items ?? []);
    expect(items.toSorted((a, b) => a - b)).toEqual(all);
    for (const epochs of readers) {
      const sums = epochs[epoch]?.sums as number[][];
      expect(sums.map(([sum]) => sum)).toEqual(sums.map(() => epoch * readers.length));
      expect(sums.reduce((sum, [, count]) => sum + (count as number), 0)).toBe(all.length);
    }
  }
}

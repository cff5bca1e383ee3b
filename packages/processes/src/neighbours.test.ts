import { describe, expect, it } from 'vitest';
import { neighboursOf } from './neighbours.js';

/** The most steps from rank 0 to any rank that is not in `lost`; Infinity if there is no path. */
function longestPath(size: number, lost: ReadonlySet<number> = new Set()): number {
  const steps = new Map([[0, 0]]);
  for (const [rank, far] of steps) {
    for (const next of neighboursOf(rank, size)) if (!lost.has(next) && !steps.has(next)) steps.set(next, far + 1);
  }
  return steps.size === size - lost.size ? Math.max(...steps.values()) : Infinity;
}

describe('the neighbours of a rank', () => {
  it.each([
    [1, []],
    [2, [1]],
    [3, [1, 2]],
    [4, [1, 2, 3]],
    [5, [1, 2, 3, 4]],
    [8, [1, 2, 4, 6, 7]],
    [16, [1, 2, 4, 8, 12, 14, 15]],
  ])('of 0 in a group of %i are %j', (size, expected) => {
    expect(neighboursOf(0, size)).toEqual(expected);
  });

  it('have that rank as a neighbour as well', () => {
    for (const size of [2, 6, 7, 33, 64]) {
      for (let rank = 0; rank < size; rank++) {
        for (const other of neighboursOf(rank, size)) expect(neighboursOf(other, size)).toContain(rank);
      }
    }
  });

  it.each([2, 9, 31, 64, 128, 1000, 1024])('are few in a group of %i, and reach all others in few steps', (size) => {
    expect(neighboursOf(size - 1, size).length).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(size)));
    expect(longestPath(size)).toBeLessThanOrEqual(Math.ceil(Math.log2(size) / 2) + 1);
  });

  it('reach all that are left after the loss of any two ranks, or of half of the ranks in a row', () => {
    for (const size of [6, 16, 29]) {
      for (let a = 1; a < size; a++) {
        for (let b = a + 1; b < size; b++) expect(longestPath(size, new Set([a, b]))).toBeLessThan(size);
      }
    }
    expect(longestPath(64, new Set(Array.from({ length: 32 }, (_, index) => index + 20)))).toBeLessThan(64);
  });
});

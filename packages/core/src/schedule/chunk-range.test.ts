import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CollectiveKind } from '../collective.js';
import { type ChunkRange, chunkRange } from './chunk-range.js';

function rangesOf(kind: CollectiveKind, ranks: number, chunks: number, length: number): ChunkRange[] {
  return Array.from({ length: chunks }, (_, chunk) => chunkRange({ ranks, chunks }, kind, length, chunk));
}

function sizesOf(kind: CollectiveKind, ranks: number, chunks: number, length: number): number[] {
  return rangesOf(kind, ranks, chunks, length).map(({ begin, end }) => end - begin);
}

describe('chunkRange', () => {
  it.each([
    { length: 12, chunks: 4, sizes: [3, 3, 3, 3] },
    { length: 11, chunks: 4, sizes: [3, 3, 3, 2] },
    { length: 13, chunks: 6, sizes: [3, 3, 3, 3, 1, 0] },
    { length: 9, chunks: 8, sizes: [2, 2, 2, 2, 1, 0, 0, 0] },
    { length: 3, chunks: 5, sizes: [1, 1, 1, 0, 0] },
    { length: 0, chunks: 3, sizes: [0, 0, 0] },
  ])('cuts $length elements into $chunks chunks as a padded split does', ({ length, chunks, sizes }) => {
    expect(sizesOf('all-reduce', 2, chunks, length)).toEqual(sizes);
  });

  it('cuts each block of an all-gather or reduce-scatter by itself', () => {
    const ranges = [
      { begin: 0, end: 2 },
      { begin: 2, end: 3 },
      { begin: 3, end: 5 },
      { begin: 5, end: 6 },
    ];
    expect(rangesOf('all-gather', 2, 4, 6)).toEqual(ranges);
    expect(rangesOf('reduce-scatter', 2, 4, 6)).toEqual(ranges);
  });

  it('covers every element once, in order, and keeps to the blocks', () => {
    const kinds = fc.constantFrom<CollectiveKind>('all-reduce', 'reduce', 'broadcast', 'all-gather', 'reduce-scatter');
    const sizes = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }), fc.nat(40));
    fc.assert(
      fc.property(kinds, sizes, (kind, [ranks, pieces, block]) => {
        let reached = 0;
        for (const [chunk, { begin, end }] of rangesOf(kind, ranks, ranks * pieces, ranks * block).entries()) {
          expect(begin).toBe(reached);
          expect(end).toBeGreaterThanOrEqual(begin);
          reached = end;
          const isBlockEnd = (chunk + 1) % pieces === 0;
          const hasBlocks = kind === 'all-gather' || kind === 'reduce-scatter';
          if (hasBlocks && isBlockEnd) expect(end).toBe(((chunk + 1) / pieces) * block);
        }
        expect(reached).toBe(ranks * block);
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CollectiveKind, collectiveKinds } from '../collectives/collective.js';
import { type ChunkPlace, chunkPlace, chunkRange, type Side } from './chunk-range.js';
import { blockCount } from './goal.js';

function placesOf(kind: CollectiveKind, ranks: number, chunks: number, length: number): ChunkPlace[] {
  return Array.from({ length: chunks }, (_, chunk) => chunkPlace({ ranks, chunks }, kind, length, chunk));
}

/** The range of each chunk, as text `begin-end`. */
function rangesIn(side: Side, kind: CollectiveKind, ranks: number, chunks: number, length: number): string {
  const ranges = Array.from({ length: chunks }, (_, chunk) => chunkRange({ ranks, chunks }, kind, length, chunk, side));
  return ranges.map(({ begin, end }) => `${begin}-${end}`).join(' ');
}

function sizesOf(kind: CollectiveKind, ranks: number, chunks: number, length: number): number[] {
  return placesOf(kind, ranks, chunks, length).map(({ begin, end }) => end - begin);
}

describe('chunkRange', () => {
  it.each([
    { length: 12, chunks: 4, sizes: [3, 3, 3, 3] },
    { length: 11, chunks: 4, sizes: [3, 3, 3, 2] },
    { length: 13, chunks: 6, sizes: [3, 3, 3, 3, 1, 0] },
    { length: 9, chunks: 8, sizes: [2, 2, 2, 2, 1, 0, 0, 0] },
    { length: 3, chunks: 5, sizes: [1, 1, 1, 0, 0] },
    { length: 0, chunks: 3, sizes: [0, 0, 0] },
  ])(
    'splits $length elements into $chunks equal chunks, of which the last may be shorter or empty',
    ({ length, chunks, sizes }) => {
      expect(sizesOf('all-reduce', 2, chunks, length)).toEqual(sizes);
    },
  );

  it('splits each block separately and locates it in the buffers of its ranks', () => {
    const inBlock = '0-2 2-3 0-2 2-3';
    const inAll = '0-2 2-3 3-5 5-6';
    for (const kind of ['all-gather', 'gather'] as const) {
      expect([rangesIn('input', kind, 2, 4, 6), rangesIn('output', kind, 2, 4, 6)]).toEqual([inBlock, inAll]);
    }
    for (const kind of ['reduce-scatter', 'scatter'] as const) {
      expect([rangesIn('input', kind, 2, 4, 6), rangesIn('output', kind, 2, 4, 6)]).toEqual([inAll, inBlock]);
    }
  });

  it('returns where the sender and the receiver of an all-to-all have each block', () => {
    // The blocks from rank 0 to 0, 0 to 1, 1 to 0 and 1 to 1, with two chunks each.
    expect(rangesIn('input', 'all-to-all', 2, 8, 6)).toBe('0-2 2-3 3-5 5-6 0-2 2-3 3-5 5-6');
    expect(rangesIn('output', 'all-to-all', 2, 8, 6)).toBe('0-2 2-3 0-2 2-3 3-5 5-6 3-5 5-6');
  });

  it('returns the same range in input and output for collectives without blocks', () => {
    for (const kind of ['all-reduce', 'reduce', 'broadcast'] as const) {
      expect([rangesIn('input', kind, 2, 3, 5), rangesIn('output', kind, 2, 3, 5)]).toEqual([
        '0-2 2-4 4-5',
        '0-2 2-4 4-5',
      ]);
    }
  });
});

describe('chunkPlace', () => {
  it('covers every element once, in order, without crossing blocks', () => {
    const kinds = fc.constantFrom(...collectiveKinds);
    const sizes = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }), fc.nat(40));
    fc.assert(
      fc.property(kinds, sizes, (kind, [ranks, pieces, block]) => {
        let reached = 0;
        const blocks = blockCount(kind, ranks);
        const chunks = blocks * pieces;
        for (const [chunk, place] of placesOf(kind, ranks, chunks, blocks * block).entries()) {
          const { begin, end, inputAt, outputAt } = place;
          expect(begin).toBe(reached);
          expect(end).toBeGreaterThanOrEqual(begin);
          reached = end;
          if ((chunk + 1) % pieces === 0) expect(end).toBe(((chunk + 1) / pieces) * block);
          const longest = blocks === 1 ? block : ranks * block;
          const rangeIn = (side: Side) => chunkRange({ ranks, chunks }, kind, longest, chunk, side);
          expect(rangeIn('input')).toEqual({ begin: inputAt, end: inputAt + end - begin });
          expect(rangeIn('output')).toEqual({ begin: outputAt, end: outputAt + end - begin });
        }
        expect(reached).toBe(blocks * block);
      }),
    );
  });
});

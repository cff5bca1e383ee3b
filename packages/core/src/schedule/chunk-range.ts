import type { CollectiveKind } from '../collectives/collective.js';
import { blockCount } from './goal.js';
import type { Schedule } from './schedule.js';

/** Elements `[begin, end)` of a buffer. */
export interface ChunkRange {
  readonly begin: number;
  readonly end: number;
}

/** One of a rank's two buffers. */
export type Side = 'input' | 'output';

/**
 * The range of a chunk within a buffer (`side`: input or output), on each rank whose buffer
 * contains the chunk. `length` is the number of elements in the longest buffer of any rank; if
 * buffers consist of blocks, `length` is a multiple of `ranks`. A buffer or block is cut into
 * pieces of equal size, rounded up, so the last pieces may be shorter or empty.
 */
export function chunkRange(
  { ranks, chunks }: Pick<Schedule, 'ranks' | 'chunks'>,
  kind: CollectiveKind,
  length: number,
  chunk: number,
  side: Side,
): ChunkRange {
  const blocks = blockCount(kind, ranks);
  const pieces = chunks / blocks;
  const size = blocks === 1 ? length : length / ranks;
  const { begin, end } = pieceOf(size, pieces, chunk % pieces);
  const offset = blockIn(side, kind, Math.floor(chunk / pieces), ranks) * size;
  return { begin: offset + begin, end: offset + end };
}

/**
 * The range of a chunk in the concatenation of all chunks, and where it begins in the input and in
 * the output of the ranks that have it.
 */
export interface ChunkPlace extends ChunkRange {
  readonly inputAt: number;
  readonly outputAt: number;
}

/** The place of a chunk, if all chunks of all blocks together have `length` elements. */
export function chunkPlace(
  schedule: Pick<Schedule, 'ranks' | 'chunks'>,
  kind: CollectiveKind,
  length: number,
  chunk: number,
): ChunkPlace {
  const { ranks, chunks } = schedule;
  const blocks = blockCount(kind, ranks);
  const pieces = chunks / blocks;
  const { begin, end } = pieceOf(length / blocks, pieces, chunk % pieces);
  const offset = (Math.floor(chunk / pieces) * length) / blocks;
  const longest = kind === 'all-to-all' ? length / ranks : length;
  const inputAt = chunkRange(schedule, kind, longest, chunk, 'input').begin;
  const outputAt = chunkRange(schedule, kind, longest, chunk, 'output').begin;
  return { begin: offset + begin, end: offset + end, inputAt, outputAt };
}

/** The index, in a rank's buffer, of a block of the schedule. */
function blockIn(side: Side, kind: CollectiveKind, block: number, ranks: number): number {
  switch (kind) {
    case 'all-gather':
    case 'gather':
      return side === 'input' ? 0 : block;
    case 'reduce-scatter':
    case 'scatter':
      return side === 'input' ? block : 0;
    case 'all-to-all':
      return side === 'input' ? block % ranks : Math.floor(block / ranks);
    default:
      return 0;
  }
}

function pieceOf(length: number, pieces: number, piece: number): ChunkRange {
  const size = Math.ceil(length / pieces);
  return { begin: Math.min(piece * size, length), end: Math.min((piece + 1) * size, length) };
}

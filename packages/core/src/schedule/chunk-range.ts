import type { CollectiveKind } from '../collective.js';
import { hasBlocks, ownerOf } from './goal.js';
import type { Schedule } from './schedule.js';

/** Elements of a buffer from `begin` up to, but without, `end`. */
export interface ChunkRange {
  readonly begin: number;
  readonly end: number;
}

/**
 * Where a chunk lies in the whole buffer of `length` elements. Pieces are of one size, rounded up, so that the last ones
 * may be shorter or empty. For all-gather and reduce-scatter the whole buffer is the blocks of all ranks, `length` is a
 * multiple of `ranks`, and each block is cut like that.
 */
export function chunkRange(
  schedule: Pick<Schedule, 'ranks' | 'chunks'>,
  kind: CollectiveKind,
  length: number,
  chunk: number,
): ChunkRange {
  if (!hasBlocks(kind)) return pieceOf(length, schedule.chunks, chunk);
  const pieces = schedule.chunks / schedule.ranks;
  const block = length / schedule.ranks;
  const { begin, end } = pieceOf(block, pieces, chunk % pieces);
  const offset = ownerOf(schedule, chunk) * block;
  return { begin: offset + begin, end: offset + end };
}

function pieceOf(length: number, pieces: number, piece: number): ChunkRange {
  const size = Math.ceil(length / pieces);
  return { begin: Math.min(piece * size, length), end: Math.min((piece + 1) * size, length) };
}

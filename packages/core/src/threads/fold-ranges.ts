import { type Collective, outputDType } from '../collectives/collective.js';
import type { FoldRange } from '../kernels/fold.js';
import { type ChunkPlace, type ChunkRange, chunkPlace } from '../schedule/chunk-range.js';
import type { FusedChunk } from '../schedule/fused-chunks.js';
import type { Schedule } from '../schedule/schedule.js';
import { byteSize, type DType } from '../values/dtype.js';

/** The arithmetic of a call: how the chunks of a whole buffer of `length` elements are combined. */
export interface FoldWork {
  readonly collective: Collective;
  readonly dtype: DType;
  readonly schedule: Pick<Schedule, 'ranks' | 'chunks'>;
  readonly chunks: readonly FusedChunk[];
  readonly length: number;
}

/** Offsets of the ranks' buffers, in bytes of one memory. */
export interface Offsets {
  inputAt(rank: number): number;
  outputAt(rank: number): number;
}

/**
 * A piece of the whole buffer, in elements. `places` are not the offsets of the piece, but those at
 * which a contiguous whole buffer around the piece would begin.
 */
export interface PlacedSegment extends ChunkRange {
  readonly places: Offsets;
}

/**
 * The pieces of the whole buffer. `begins` holds the begin of each piece, followed by the total
 * length; `placesOf` returns the offsets of a piece.
 */
export function placedSegments(
  { collective, dtype }: Pick<FoldWork, 'collective' | 'dtype'>,
  begins: Float64Array,
  placesOf: (piece: number) => Offsets,
): PlacedSegment[] {
  const [inputSize, outputSize] = [byteSize(dtype), byteSize(outputDType(collective, dtype))];
  return Array.from({ length: begins.length - 1 }, (_, piece) => {
    const [begin, end] = [begins[piece] as number, begins[piece + 1] as number];
    const { inputAt, outputAt } = placesOf(piece);
    const places: Offsets = {
      inputAt: (rank) => inputAt(rank) - begin * inputSize,
      outputAt: (rank) => outputAt(rank) - begin * outputSize,
    };
    return { begin, end, places };
  });
}

/**
 * The ranges to fold (combine) for elements `part` of a buffer that consists of pieces, from all
 * inputs to all outputs.
 */
export function foldRangesOfSegments(work: FoldWork, pieces: readonly PlacedSegment[], part: ChunkRange): FoldRange[] {
  return pieces.flatMap(({ begin, end, places }) => {
    const own = { begin: Math.max(begin, part.begin), end: Math.min(end, part.end) };
    return own.begin < own.end ? foldRangesOf(work, places, own, () => true) : [];
  });
}

/**
 * The ranges to fold (combine) for elements `part`, one for each schedule chunk in it, from all
 * ranks' inputs to the outputs of the chunk's target ranks for which `isTarget` is true.
 */
export function foldRangesOf(
  work: FoldWork,
  places: Offsets,
  part: ChunkRange,
  isTarget: (rank: number) => boolean,
): FoldRange[] {
  const { collective, schedule, chunks, length } = work;
  return chunks.flatMap((chunk, index) => {
    const place = chunkPlace(schedule, collective.kind, length, index);
    const begin = Math.max(part.begin, place.begin);
    const count = Math.min(part.end, place.end) - begin;
    const targets = count > 0 ? chunk.targets.filter(isTarget) : [];
    return targets.length > 0 ? [foldRangeOf(work, places, chunk, targets, { place, begin, count })] : [];
  });
}

/** The elements that a rank combines: whole cache lines, so that no two ranks write the same cache line. */
export function elementsOf(
  { collective, dtype, length, schedule: { ranks } }: Pick<FoldWork, 'collective' | 'dtype' | 'length' | 'schedule'>,
  rank: number,
): ChunkRange {
  if (isScattered(collective)) return { begin: (rank * length) / ranks, end: ((rank + 1) * length) / ranks };
  const line = 64 / byteSize(outputDType(collective, dtype));
  const share = Math.ceil(length / ranks / line) * line;
  return { begin: Math.min(rank * share, length), end: Math.min((rank + 1) * share, length) };
}

// Bytes of all ranks' inputs together.
const stripeBytes = 32 * 2 ** 20;

/**
 * The elements that a rank combines, as one range per stripe of the buffer. Ranks that advance side
 * by side make better use of a shared cache than ranks that are far apart.
 */
export function stripesOf(work: FoldWork, rank: number): ChunkRange[] {
  const { collective, dtype, length, schedule } = work;
  if (isScattered(collective)) return [elementsOf(work, rank)];
  const stripe = Math.max(64, Math.floor(stripeBytes / schedule.ranks / byteSize(dtype) / 64) * 64);
  return Array.from({ length: Math.ceil(length / stripe) }, (_, index) => {
    const first = index * stripe;
    const { begin, end } = elementsOf({ ...work, length: Math.min(stripe, length - first) }, rank);
    return { begin: first + begin, end: first + end };
  });
}

/** Whether each rank receives one block of the whole buffer, which only that rank combines. */
function isScattered({ kind }: Collective): boolean {
  return kind === 'reduce-scatter' || kind === 'scatter';
}

/** `count` elements of the chunk at `place`, from element `begin` of the whole buffer. */
interface Elements {
  readonly place: ChunkPlace;
  readonly begin: number;
  readonly count: number;
}

function foldRangeOf(
  { collective, dtype, schedule: { ranks } }: FoldWork,
  places: Offsets,
  { chain, steps }: FusedChunk,
  targets: readonly number[],
  { place, begin, count }: Elements,
): FoldRange {
  const first = begin - place.begin;
  const inputAt = (rank: number) => places.inputAt(rank) + (place.inputAt + first) * byteSize(dtype);
  const outputAt = (rank: number) =>
    places.outputAt(rank) + (place.outputAt + first) * byteSize(outputDType(collective, dtype));
  // A shared result is written once.
  const results = targets.filter(
    (rank, index) => targets.findIndex((other) => outputAt(other) === outputAt(rank)) === index,
  );
  const outputs = results.map(outputAt);
  if (chain) return { inputs: chain.map(inputAt), outputs, count };
  return { inputs: Array.from({ length: ranks }, (_, rank) => inputAt(rank)), outputs, count, steps, results };
}

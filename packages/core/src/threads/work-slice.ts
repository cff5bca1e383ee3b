import { opOf, writes } from '../collectives/collective.js';
import type { Fold, FoldMemory, FoldRange } from '../kernels/fold.js';
import { settleNaNs } from '../kernels/one-nan.js';
import type { Descriptors } from '../runtime/descriptors.js';
import { chunkPlace } from '../schedule/chunk-range.js';
import {
  elementsOf,
  type FoldWork,
  foldRangesOf,
  foldRangesOfSegments,
  type PlacedSegment,
  stripesOf,
} from './fold-ranges.js';
import type { Offer, WorkSlice } from './offers.js';
import { inputSlot, outputSlot } from './staging-buffer.js';

// Elements folded between two clock checks: a few hundred microseconds.
const sliceLength = 1 << 18;

// Inputs smaller than this in total (bytes) are partly still cached when they are reduced again.
// Every other call therefore starts with the last slices, which the previous call touched last.
// With 4 MiB from each of two ranks, that saves a quarter if the inputs were not written in
// between, and costs a twentieth if their ranks wrote them.
const keptBytes = 16 * 2 ** 20;
const keptLength = 1 << 16;

/**
 * The work for a small call: rank `own` computes its results alone, from the copies of all inputs.
 * All ranks compute the same bits.
 */
export function smallSlice(offer: Offer, descriptors: Descriptors, own: number, memory: FoldMemory): WorkSlice {
  const work = workOf(offer);
  const places = {
    inputAt: (rank: number) => descriptors.workAt(rank),
    outputAt: (rank: number) => descriptors.outputAt(rank),
  };
  const share = sliced(
    offer,
    foldRangesOf(work, places, { begin: 0, end: offer.length }, (rank) => rank === own),
  );
  const { collective } = offer.plan;
  if (opOf(collective) === undefined || !writes(collective, own)) return share;
  const { resultDType, outputLength } = offer.shape;
  return {
    ...share,
    execute(block, until) {
      const isDone = share.execute(block, until);
      if (isDone) settleNaNs(memory, resultDType, descriptors.outputAt(own), outputLength);
      return isDone;
    },
  };
}

/** The work of one rank: to combine its share of the elements directly from all inputs into all outputs. */
export function directSlice(offer: Offer, pieces: readonly PlacedSegment[], rank: number): WorkSlice {
  const work = workOf(offer);
  return sliced(
    offer,
    stripesOf(work, rank).flatMap((part) => foldRangesOfSegments(work, pieces, part)),
  );
}

/** The work of one rank: to combine its share of every block from staging buffers into staging buffers. */
export function stagedSlice(offer: Offer, descriptors: Descriptors, rank: number): WorkSlice {
  const { plan, shape, length } = offer;
  const { schedule, collective, chunks } = plan;
  const size = shape.inputLength;
  const foldsOf = (slot: number): readonly Fold[] => {
    const places = {
      inputAt: (other: number) => descriptors.workAt(other) + inputSlot(shape, slot),
      outputAt: (other: number) => descriptors.workAt(other) + outputSlot(shape, slot),
    };
    // Each chunk separately, as if it were a whole buffer; a block may be a single chunk.
    const single = { ...schedule, chunks: 1 };
    return chunks.map((chunk) => {
      const work = { ...workOf(offer), schedule: single, chunks: [chunk], length: size };
      const [span] = foldRangesOf(work, places, { begin: 0, end: size }, () => true);
      return span ? plan.makeFold(span) : () => {};
    });
  };
  const folds = Array.from({ length: shape.slots }, (_, slot) => foldsOf(slot));
  const ranges = chunks.map((_, chunk) => chunkPlace(schedule, collective.kind, length, chunk));
  const blocks = Math.ceil(length / size);
  const whole = elementsOf({ ...plan, length: size }, rank);
  const last = elementsOf({ ...plan, length: length - (blocks - 1) * size }, rank);
  return {
    blocks,
    execute(block) {
      const first = block * size;
      const part = block === blocks - 1 ? last : whole;
      for (let chunk = 0; chunk < ranges.length; chunk++) {
        const { begin, end } = ranges[chunk] as (typeof ranges)[number];
        const from = Math.max(part.begin, begin - first);
        const count = Math.min(part.end, end - first) - from;
        if (count > 0) folds[block % shape.slots]?.[chunk]?.(from, count);
      }
      return true;
    },
  };
}

function workOf({ plan, length }: Offer): FoldWork {
  return { ...plan, length };
}

/** The work of folding (combining) these ranges, cut into slices so that other work can run in between. */
function sliced({ plan, inputBytes }: Offer, spans: readonly FoldRange[]): WorkSlice {
  const isKept = inputBytes * plan.schedule.ranks < keptBytes;
  const slices = spans.flatMap((span) => slicesOf(span, plan.makeFold(span), isKept ? keptLength : sliceLength));
  let done = 0;
  let isBackward = false;
  return {
    blocks: 1,
    execute(_, until) {
      while (done < slices.length) {
        const { fold, begin, count, isLast } = slices[isBackward ? slices.length - 1 - done : done] as Slice;
        done++;
        fold(begin, count);
        // Short spans are single slices and skip the clock check.
        if (!isLast && performance.now() >= until) return false;
      }
      done = 0;
      isBackward = isKept && !isBackward;
      return true;
    },
  };
}

/** A part of a range to fold (combine): `count` elements from `begin` on. */
interface Slice {
  readonly fold: Fold;
  readonly begin: number;
  readonly count: number;
  readonly isLast: boolean;
}

function slicesOf({ count }: FoldRange, fold: Fold, most: number): Slice[] {
  return Array.from({ length: Math.ceil(count / most) }, (_, index) => {
    const begin = index * most;
    const end = Math.min(begin + most, count);
    return { fold, begin, count: end - begin, isLast: end === count };
  });
}

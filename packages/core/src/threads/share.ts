import { opOf, writes } from '../collectives/collective.js';
import type { Fold, FoldMemory, Span } from '../kernels/fold.js';
import { settleNaNs } from '../kernels/one-nan.js';
import { chunkPlace } from '../schedule/chunk-range.js';
import type { Descriptors } from './descriptors.js';
import type { Offer, Share } from './offers.js';
import { type FoldWork, type PlacedPiece, shareOf, sharesOf, spansOf, spansOfPieces } from './spans.js';
import { inputSlot, outputSlot } from './staging-buffer.js';

// Elements that are folded between two looks at the clock: some hundred microseconds.
const sliceLength = 1 << 18;

// Inputs that are less than this together are in part still in caches when they are reduced again. Every other time the last of them come
// first, which is what the time before has touched last: of 4 MiB from each of two ranks that takes a quarter off where nobody has written
// them meanwhile, and adds a twentieth where their ranks have. Slices are short enough for it.
const keptBytes = 16 * 2 ** 20;
const keptLength = 1 << 16;

/** Everything that one rank gets, from the copies that all ranks have made. What they all work out has the same bits. */
export function smallShare(offer: Offer, descriptors: Descriptors, own: number, memory: FoldMemory): Share {
  const work = workOf(offer);
  const places = {
    inputAt: (rank: number) => descriptors.workAt(rank),
    outputAt: (rank: number) => descriptors.outputAt(rank),
  };
  const share = sliced(
    offer,
    spansOf(work, places, { begin: 0, end: offer.length }, (rank) => rank === own),
  );
  const { collective } = offer.plan;
  if (opOf(collective) === undefined || !writes(collective, own)) return share;
  const { resultDType, outputLength } = offer.shape;
  return {
    ...share,
    play(block, until) {
      const isDone = share.play(block, until);
      if (isDone) settleNaNs(memory, resultDType, descriptors.outputAt(own), outputLength);
      return isDone;
    },
  };
}

/** The elements of a rank, straight from all inputs to all outputs. */
export function directShare(offer: Offer, pieces: readonly PlacedPiece[], rank: number): Share {
  const work = workOf(offer);
  return sliced(
    offer,
    sharesOf(work, rank).flatMap((part) => spansOfPieces(work, pieces, part)),
  );
}

/** The elements of a rank in every block, between the stages. */
export function stagedShare(offer: Offer, descriptors: Descriptors, rank: number): Share {
  const { plan, shape, length } = offer;
  const { schedule, collective, chunks } = plan;
  const size = shape.inputLength;
  const foldsOf = (slot: number): readonly Fold[] => {
    const places = {
      inputAt: (other: number) => descriptors.workAt(other) + inputSlot(shape, slot),
      outputAt: (other: number) => descriptors.workAt(other) + outputSlot(shape, slot),
    };
    // Each chunk by itself, as if it were all of a block, which one of them may be.
    const single = { ...schedule, chunks: 1 };
    return chunks.map((chunk) => {
      const work = { ...workOf(offer), schedule: single, chunks: [chunk], length: size };
      const [span] = spansOf(work, places, { begin: 0, end: size }, () => true);
      return span ? plan.makeFold(span) : () => {};
    });
  };
  const folds = Array.from({ length: shape.slots }, (_, slot) => foldsOf(slot));
  const ranges = chunks.map((_, chunk) => chunkPlace(schedule, collective.kind, length, chunk));
  const blocks = Math.ceil(length / size);
  const whole = shareOf({ ...plan, length: size }, rank);
  const last = shareOf({ ...plan, length: length - (blocks - 1) * size }, rank);
  return {
    blocks,
    play(block) {
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

/** Folds in slices, so that other things can be done in between. */
function sliced({ plan, inputBytes }: Offer, spans: readonly Span[]): Share {
  const isKept = inputBytes * plan.schedule.ranks < keptBytes;
  const slices = spans.flatMap((span) => slicesOf(span, plan.makeFold(span), isKept ? keptLength : sliceLength));
  let done = 0;
  let isBackward = false;
  return {
    blocks: 1,
    play(_, until) {
      while (done < slices.length) {
        const { fold, begin, count, isLast } = slices[isBackward ? slices.length - 1 - done : done] as Slice;
        done++;
        fold(begin, count);
        // Short spans are single slices, and do not look at the clock.
        if (!isLast && performance.now() >= until) return false;
      }
      done = 0;
      isBackward = isKept && !isBackward;
      return true;
    },
  };
}

/** Elements of a span. */
interface Slice {
  readonly fold: Fold;
  readonly begin: number;
  readonly count: number;
  readonly isLast: boolean;
}

function slicesOf({ count }: Span, fold: Fold, most: number): Slice[] {
  return Array.from({ length: Math.ceil(count / most) }, (_, index) => {
    const begin = index * most;
    const end = Math.min(begin + most, count);
    return { fold, begin, count: end - begin, isLast: end === count };
  });
}

import type { Collective } from '../collectives/collective.js';
import type { ArrayLocation, Fold, FoldRange } from '../kernels/fold.js';
import { chunkPlace } from '../schedule/chunk-range.js';
import type { DType } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import type { PreparedCall } from './call-cache.js';
import { ControllerCommunicator } from './controller-communicator.js';
import type { Plan, Plans } from './plans.js';
import type { CheckedCall, SegmentList } from './segment-list.js';

/**
 * Executes a part of a prepared call, a few hundred microseconds of work. Prepared calls are
 * reused, so a slice may run any number of times.
 */
export type FoldSlice = () => void;

// Milliseconds of work between two turns of the event loop.
const turnMillis = 1;

/**
 * A communicator of ranks in one thread. Each chunk is combined in one pass, from the inputs of all
 * ranks to all outputs. Each subclass defines the kernels, and how they access the memory of a
 * call.
 */
export abstract class FoldingCommunicator<Location> extends ControllerCommunicator<readonly FoldSlice[]> {
  readonly #plans: Plans<Location>;

  constructor(size: number, plans: Plans<Location>) {
    super(size);
    this.#plans = plans;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#plans.refuses(collective, dtype);
  }

  /** Cuts one range of elements of a call into slices, which are short units of work. */
  protected abstract slicesOf(span: FoldRange<ArrayLocation>, plan: Plan<Location>): readonly FoldSlice[];

  protected prepare(call: CheckedCall): readonly FoldSlice[] {
    const plan = this.#plans.find(call.collective, call.dtype);
    return spansOf(plan, call).flatMap((span) => this.slicesOf(span, plan));
  }

  // Unlike the parent's version, does not check the clock between slices.
  protected override executeSync({ handle: slices }: PreparedCall<readonly FoldSlice[]>): void {
    for (const execute of slices) execute();
  }

  protected endOf(slices: readonly FoldSlice[]): number {
    return slices.length;
  }

  protected workFrom(slices: readonly FoldSlice[], begin: number): number {
    const until = performance.now() + turnMillis;
    let at = begin;
    do slices[at++]?.();
    while (at < slices.length && performance.now() < until);
    return at;
  }
}

/** Cuts a fold of `count` elements into slices of at most `length` elements. */
export function sliced(fold: Fold, count: number, length: number): FoldSlice[] {
  return Array.from({ length: Math.ceil(count / length) }, (_, index) => {
    const begin = index * length;
    return () => fold(begin, Math.min(length, count - begin));
  });
}

/** The spans of elements that at least one rank receives, per chunk and segment. */
function spansOf(
  { collective, schedule, chunks }: Omit<Plan, 'makeFold'>,
  call: CheckedCall,
): FoldRange<ArrayLocation>[] {
  const { begins, length } = call;
  return chunks.flatMap(({ chain, steps, targets }, index) => {
    const {
      begin: chunkBegin,
      end: chunkEnd,
      inputAt,
      outputAt,
    } = chunkPlace(schedule, collective.kind, length, index);
    const spans: FoldRange<ArrayLocation>[] = [];
    for (let segment = 0; segment < begins.length - 1; segment++) {
      const segmentBegin = begins[segment] as number;
      const begin = Math.max(chunkBegin, segmentBegin);
      const count = Math.min(chunkEnd, begins[segment + 1] as number) - begin;
      const results = call.isShared ? distinct(targets, call.outputs, segment) : targets;
      if (count <= 0 || results.length === 0) continue;
      const placesIn = (buffers: readonly SegmentList[], ranks: readonly number[], chunkAt: number) => {
        // Buffers in several segments have no blocks, so `chunkAt` equals `chunkBegin`.
        const at = chunkAt + begin - chunkBegin - segmentBegin;
        return ranks.map((rank) => ({ array: segmentOf(buffers, rank, segment).data, at }));
      };
      const inputs = placesIn(call.inputs, chain ?? call.localRanks, inputAt);
      const outputs = placesIn(call.outputs, results, outputAt);
      // Written out because a spread takes microseconds.
      spans.push(chain ? { inputs, outputs, count } : { inputs, outputs, count, steps, results });
    }
    return spans;
  });
}

/** Removes ranks that share an output memory, except the first: a shared result is written once. */
function distinct(ranks: readonly number[], outputs: readonly SegmentList[], segment: number): readonly number[] {
  const isSame = (rank: number, other: number) => {
    const [a, b] = [segmentOf(outputs, rank, segment).data, segmentOf(outputs, other, segment).data];
    return a.buffer === b.buffer && a.byteOffset === b.byteOffset;
  };
  return ranks.filter((rank) => ranks.find((other) => isSame(rank, other)) === rank);
}

function segmentOf(buffers: readonly SegmentList[], rank: number, segment: number): Tensor {
  return buffers[rank]?.[segment] as Tensor;
}

import { outputDType } from '../collective.js';
import { byteSize, type DType, type TypedArray, viewOf } from '../dtype.js';
import type { Fold } from '../kernels/fold.js';
import { type ChunkPlace, type ChunkRange, chunkPlace } from '../schedule/chunk-range.js';
import type { Tensor } from '../tensor.js';
import type { Arena } from '../threads/arena.js';
import type { Pieces } from '../threads/pieces.js';
import type { Plan } from '../threads/plans.js';

// Of each rank: all of them stay in the second-level cache on their way in, through and out.
const blockBytes = 1 << 15;

// Between two looks at the clock: some hundred microseconds.
const blocksOfPart = 8;

/** Memory of a rank, of which element `shift` is the first of the whole buffer's. */
interface Side {
  readonly block: TypedArray;
  readonly data: TypedArray;
  readonly shift: number;
}

/** Elements of a chunk and a piece: folded block by block, from copies of all sources, to those of all targets. */
interface Stretch extends ChunkRange {
  readonly fold: Fold;
  readonly sources: readonly Side[];
  readonly targets: readonly Side[];
}

/** A chunk in a piece of all ranks' buffers, which begins with element `shift` of the whole buffer. */
interface Placed {
  readonly place: ChunkPlace;
  readonly shift: number;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

/** Plays on memory that kernels cannot reach: a block of every input is copied in, folded, and copied out. */
export class BlockPlayer {
  readonly #arena: Arena;
  readonly #places: number[] = [];

  constructor(arena: Arena) {
    this.#arena = arena;
  }

  /** What plays a call, part by part. `begins` says where each piece begins in the whole buffer, and at last how long that is. */
  prepare(plan: Plan, begins: Float64Array, inputs: readonly Pieces[], outputs: readonly Pieces[]): (() => void)[] {
    const length = begins.at(-1) as number;
    const stretches = plan.chunks.flatMap((_, chunk) => {
      const place = chunkPlace(plan.schedule, plan.collective.kind, length, chunk);
      return Array.from({ length: begins.length - 1 }, (_, piece) => {
        const begin = Math.max(place.begin, begins[piece] as number);
        const end = Math.min(place.end, begins[piece + 1] as number);
        const at = (lists: readonly Pieces[]) => lists.map((pieces) => pieces[piece] as Tensor);
        const shift = begins[piece] as number;
        return this.#stretch(plan, chunk, { begin, end }, { place, shift, inputs: at(inputs), outputs: at(outputs) });
      });
    });
    const step = blockLength(plan);
    return stretches.flatMap(({ begin, end, ...stretch }) => {
      const most = step * blocksOfPart;
      return Array.from({ length: Math.max(0, Math.ceil((end - begin) / most)) }, (_, index) => {
        const first = begin + index * most;
        const part = { ...stretch, begin: first, end: Math.min(first + most, end) };
        return () => playStretch(part, step);
      });
    });
  }

  #stretch(plan: Plan, chunk: number, range: ChunkRange, { place, shift, inputs, outputs }: Placed): Stretch {
    const { collective, dtype } = plan;
    const { chain, steps, targets } = plan.chunks[chunk] as Plan['chunks'][number];
    const all = inputs.map((_, rank) => rank);
    const ranks = chain ?? all;
    // A result that is shared is written once.
    const results = targets.filter((rank) => targets.find((other) => isSame(outputs, rank, other)) === rank);
    // One of the two is 0: buffers in pieces have no blocks.
    const inputShift = shift + place.begin - place.inputAt;
    const outputShift = shift + place.begin - place.outputAt;
    const sources = ranks.map((rank, index) => {
      return { block: this.#block(index, dtype), data: (inputs[rank] as Tensor).data, shift: inputShift };
    });
    const outputOf = (index: number) => this.#block(ranks.length + (chain ? 0 : index), outputDType(collective, dtype));
    const sinks = results.map((rank, index) => {
      return { block: outputOf(index), data: (outputs[rank] as Tensor).data, shift: outputShift };
    });
    const places = (sides: readonly Side[]) => [...new Set(sides.map(({ block }) => block.byteOffset))];
    const span = { inputs: places(sources), outputs: places(sinks), count: blockLength(plan) };
    const fold = plan.makeFold(chain ? span : { ...span, steps, results });
    return { ...range, fold, sources, targets: sinks };
  }

  #block(index: number, dtype: DType): TypedArray {
    while (this.#places.length <= index) this.#places.push(this.#arena.reserve(blockBytes));
    return viewOf(dtype, this.#arena.bytes, this.#places[index] as number, blockBytes / byteSize(dtype));
  }
}

function isSame(tensors: readonly Tensor[], rank: number, other: number): boolean {
  const [a, b] = [(tensors[rank] as Tensor).data, (tensors[other] as Tensor).data];
  return a.buffer === b.buffer && a.byteOffset === b.byteOffset;
}

function blockLength({ collective, dtype }: Plan): number {
  return blockBytes / Math.max(byteSize(dtype), byteSize(outputDType(collective, dtype)));
}

function playStretch({ begin, end, fold, sources, targets }: Stretch, step: number): void {
  for (let block = begin; block < end; block += step) {
    const count = Math.min(step, end - block);
    for (const { block: into, data, shift } of sources) copy(into, 0, data, block - shift, count);
    fold(0, count);
    for (const { block: from, data, shift } of targets) copy(data, block - shift, from, 0, count);
  }
}

function copy(into: TypedArray, intoAt: number, from: TypedArray, fromAt: number, count: number): void {
  const part = count === from.length ? from : from.subarray(fromAt, fromAt + count);
  (into as Float32Array).set(part as Float32Array, intoAt);
}

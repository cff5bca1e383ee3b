import { outputDType } from '../collectives/collective.js';
import type { ArrayLocation, FoldRange } from '../kernels/fold.js';
import type { Arena } from '../runtime/arena.js';
import type { FoldSlice } from '../runtime/folding-communicator.js';
import type { Plan } from '../runtime/plans.js';

import { copyDisjoint } from '../values/copy-disjoint.js';
import { byteSize, type DType, type TypedArray, viewOf } from '../values/dtype.js';

// Bytes of one rank's block, so small that the blocks of all ranks stay in the L2 cache until the
// results are copied out.
const blockBytes = 1 << 15;

// Blocks per slice, which takes a few hundred microseconds.
const blocksOfSlice = 8;

/**
 * Combines data in memory that WebAssembly cannot access, block by block: copies a block of every
 * input into the arena (the shared memory), combines the blocks there, and copies the result to the
 * outputs.
 */
export class BlockFolds {
  readonly #arena: Arena;
  readonly #offsets: number[] = [];

  constructor(arena: Arena) {
    this.#arena = arena;
  }

  slicesOf({ inputs, outputs, count, ...arithmetic }: FoldRange<ArrayLocation>, plan: Plan): FoldSlice[] {
    const { collective, dtype, makeFold } = plan;
    const resultDType = outputDType(collective, dtype);
    const sources = inputs.map((_, index) => this.#block(index, dtype));
    // Without steps there is one result for all outputs.
    const results = arithmetic.steps ? outputs : outputs.slice(0, 1);
    const targets = results.map((_, index) => this.#block(inputs.length + index, resultDType));
    const blockLength = blockBytes / Math.max(byteSize(dtype), byteSize(resultDType));
    const fold = makeFold({
      ...arithmetic,
      inputs: sources.map(({ byteOffset }) => byteOffset),
      outputs: targets.map(({ byteOffset }) => byteOffset),
      count: blockLength,
    });
    const foldBlock = (begin: number, length: number) => {
      for (const [index, { array, at }] of inputs.entries()) {
        copyDisjoint(sources[index] as TypedArray, 0, array, at + begin, length);
      }
      fold(0, length);
      for (const [index, { array, at }] of outputs.entries()) {
        copyDisjoint(array, at + begin, (targets[index] ?? targets[0]) as TypedArray, 0, length);
      }
    };
    const sliceLength = blockLength * blocksOfSlice;
    return Array.from({ length: Math.ceil(count / sliceLength) }, (_, index) => () => {
      const end = Math.min((index + 1) * sliceLength, count);
      for (let begin = index * sliceLength; begin < end; begin += blockLength) {
        foldBlock(begin, Math.min(blockLength, end - begin));
      }
    });
  }

  #block(index: number, dtype: DType): TypedArray {
    while (this.#offsets.length <= index) this.#offsets.push(this.#arena.reserve(blockBytes));
    return viewOf(dtype, this.#arena.bytes, this.#offsets[index] as number, blockBytes / byteSize(dtype));
  }
}

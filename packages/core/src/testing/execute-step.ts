import type { CombineKernel } from '../kernels/combine.js';
import { copyRange } from '../kernels/convert.js';
import type { Step } from '../schedule/steps.js';
import type { TypedArray } from '../values/dtype.js';

/**
 * The memory of the chunks: each chunk of a rank lies in `arrays[rank]`, from element
 * `offsetOf(rank, chunk)`. All arrays have the same type.
 */
export interface ChunkPlaces {
  readonly arrays: readonly TypedArray[];
  offsetOf(rank: number, chunk: number): number;
}

// Small enough to stay in the first-level cache between the passes over it.
const blockLength = 2048;

/**
 * Executes a step on a chunk of `length` elements. `scratch` has the type of the arrays and
 * `scratchLength` elements.
 */
export function executeStep(
  { to, chunk, operands }: Step,
  places: ChunkPlaces,
  length: number,
  combine: CombineKernel,
  scratch: TypedArray,
): void {
  const array = (rank: number) => places.arrays[rank] as TypedArray;
  const at = (rank: number) => places.offsetOf(rank, chunk);
  const [first, second] = operands as readonly [number, number];
  if (operands.length === 1) {
    copyRange(array(to), at(to), array(first), at(first), length);
    return;
  }
  if (operands.length === 2) {
    combine(array(to), at(to), array(first), at(first), array(second), at(second), length);
    return;
  }
  const last = operands.length - 1;
  for (let block = 0; block < length; block += blockLength) {
    const count = Math.min(blockLength, length - block);
    combine(scratch, 0, array(first), at(first) + block, array(second), at(second) + block, count);
    for (let position = 2; position < last; position++) {
      const rank = operands[position] as number;
      combine(scratch, 0, scratch, 0, array(rank), at(rank) + block, count);
    }
    const rank = operands[last] as number;
    // The target may also be an operand, even the last, so it is written only in this combination.
    combine(array(to), at(to) + block, scratch, 0, array(rank), at(rank) + block, count);
  }
}

/** Number of elements that the `scratch` of `executeStep` must have. */
export const scratchLength = blockLength;

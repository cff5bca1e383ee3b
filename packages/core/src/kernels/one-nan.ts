import { type DType, isHalf } from '../values/dtype.js';
import type { FoldMemory } from './fold.js';

/** Bits of the quiet NaN without sign and payload, as an integer of each float's size. */
const nanBits = { float16: 0x7e00, bfloat16: 0x7fc0, float32: 0x7fc00000, float64: 0x7ff8000000000000n } as const;
const halfInfinities = { float16: 0x7c00, bfloat16: 0x7f80 } as const;

/**
 * Gives all NaNs the same bits, because several threads compute the same result redundantly and
 * must get equal bits. A processor that combines two NaNs keeps the bits of its first operand, and
 * the order of operands depends on how far a thread's code has been optimized. `at` is a byte
 * offset in the memory.
 */
export function settleNaNs(memory: FoldMemory, dtype: DType, at: number, count: number): void {
  const elements = memory.elements(dtype);
  const first = at / elements.BYTES_PER_ELEMENT;
  if (isHalf(dtype)) {
    for (let index = first; index < first + count; index++) {
      if (((elements[index] as number) & 0x7fff) > halfInfinities[dtype]) elements[index] = nanBits[dtype];
    }
  } else if (dtype === 'float32' || dtype === 'float64') {
    for (let index = first; index < first + count; index++) {
      if (!Number.isNaN(elements[index])) continue;
      memory.elements(dtype === 'float32' ? 'uint32' : 'uint64')[index] = nanBits[dtype];
    }
  }
}

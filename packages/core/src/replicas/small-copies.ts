import type { Tensor } from '../values/tensor.js';

// Up to here, copying a value and its result takes less time than passing new memory to an engine.
const mostBytes = 2 ** 16;

// Longer arrays have a buffer of their own, so that looking at it does not make one.
const mostBytesWithoutBuffer = 64;

/** Whether a call on new memory can be made on a copy: it has one small value, and a result of the same dtype. */
export function canBeCopied([value, ...others]: readonly Tensor[], [result]: readonly Tensor[]): boolean {
  if (!value || !result || others.length > 0 || value.dtype !== result.dtype) return false;
  return isSmall(value) && isSmall(result);
}

function isSmall({ data, memory }: Tensor): boolean {
  if (memory || data.byteLength > mostBytes || data.length === 0) return false;
  // Shared memory is used in place, so that the engine sees what other replicas do with it.
  return data.byteLength <= mostBytesWithoutBuffer || data.buffer instanceof ArrayBuffer;
}

import type { Collective, DType, Tensor } from '@coll/core';
import { byteSize, outputDType, outputLength, viewOf } from '@coll/core/plugin';

/** Where the buffers of a call are. */
export type Placement =
  | 'in own memory'
  | 'in place'
  | 'in shared memory'
  | 'at odd offsets'
  | 'at odd offsets in place'
  | 'with one input for all'
  | 'with one output for all'
  | 'in allocated memory'
  | 'in allocated memory in place';

/** Those that every call may have; one output for all is for calls that say so. */
export const placements: readonly Placement[] = [
  'in own memory',
  'in place',
  'in shared memory',
  'at odd offsets',
  'at odd offsets in place',
  'with one input for all',
  'in allocated memory',
  'in allocated memory in place',
];

export interface PlacedBuffers {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

export interface BufferRequest {
  readonly collective: Collective;
  readonly dtype: DType;
  readonly size: number;
  /** Elements of an input. */
  readonly length: number;
  readonly placement: Placement;
}

// Elements before and after a tensor at an odd offset.
const [before, after] = [3, 2];

/** A buffer of zeros for every rank's input and output. */
export function placeBuffers({ collective, dtype, size, length, placement }: BufferRequest): PlacedBuffers {
  const resultDType = outputDType(collective, dtype);
  const resultLength = outputLength(collective, length, size);
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  const make = (kind: DType, count: number) => makeTensor(kind, count, placement);
  if (placement.endsWith('in place') && resultDType === dtype) {
    const pairs = ranks.map((rank) => pairInPlace(collective, make(dtype, Math.max(length, resultLength)), rank, size));
    return { inputs: pairs.map(({ input }) => input), outputs: pairs.map(({ output }) => output) };
  }
  const shared = placement === 'with one input for all' ? make(dtype, length) : undefined;
  const result = placement === 'with one output for all' ? make(resultDType, resultLength) : undefined;
  return {
    inputs: ranks.map(() => shared ?? make(dtype, length)),
    outputs: ranks.map(() => result ?? make(resultDType, resultLength)),
  };
}

/** Where one of the two is longer, the other one is the rank's block of it. */
function pairInPlace({ kind }: Collective, whole: Tensor, rank: number, size: number) {
  const count = whole.data.length / size;
  const block = () => {
    const data = whole.data.subarray(rank * count, (rank + 1) * count);
    return { ...whole, data, shape: [count] };
  };
  if (kind === 'all-gather') return { input: block(), output: whole };
  return { input: whole, output: kind === 'reduce-scatter' ? block() : whole };
}

function makeTensor(dtype: DType, length: number, placement: Placement): Tensor {
  const isOdd = placement.startsWith('at odd offsets');
  const bytes = byteSize(dtype) * (isOdd ? before + length + after : length);
  // What is one array here must be one memory wherever it is posted to.
  const isShared = placement === 'in shared memory' || placement === 'with one input for all';
  const buffer = isShared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
  const data = viewOf(dtype, buffer, isOdd ? before * byteSize(dtype) : 0, length);
  return { data, dtype, shape: [length], device: '' };
}

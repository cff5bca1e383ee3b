import type { Collective, DType, Tensor } from '@coll/core';
import { bufferLengths } from '@coll/core/internal';
import { byteSize, outputDType, viewOf } from '@coll/core/plugin';

/** How the buffers of a call are placed in memory. */
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

/**
 * The placements that every call supports. `with one output for all` is missing, because only calls
 * with `sharedResult` support it.
 */
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
  /** Number of elements per rank (`n` in `Collective`). */
  readonly count: number;
  readonly placement: Placement;
}

// Elements before and after a tensor at an odd offset.
const [before, after] = [3, 2];

/**
 * Makes a zero-filled input and a zero-filled output for every rank. An all-to-all gets separate
 * memory even if the placement is 'in place'.
 */
export function placeBuffers({ collective, dtype, size, count, placement }: BufferRequest): PlacedBuffers {
  const resultDType = outputDType(collective, dtype);
  const ranks = Array.from({ length: size }, (_, rank) => bufferLengths(collective, count, size, rank));
  const make = (kind: DType, length: number) => makeTensor(kind, length, placement);
  if (placement.endsWith('in place') && resultDType === dtype && collective.kind !== 'all-to-all') {
    const pairs = ranks.map((lengths, rank) => pairInPlace(lengths, (length) => make(dtype, length), rank));
    return { inputs: pairs.map(({ input }) => input), outputs: pairs.map(({ output }) => output) };
  }
  const longest = (side: 'input' | 'output') => Math.max(...ranks.map((lengths) => lengths[side]));
  const shared = placement === 'with one input for all' ? make(dtype, longest('input')) : undefined;
  const result = placement === 'with one output for all' ? make(resultDType, longest('output')) : undefined;
  const tensorOf = (one: Tensor | undefined, kind: DType, length: number) =>
    one?.data.length === length ? one : make(kind, length);
  return {
    inputs: ranks.map(({ input }) => tensorOf(shared, dtype, input)),
    outputs: ranks.map(({ output }) => tensorOf(result, resultDType, output)),
  };
}

/**
 * Makes an input and an output in the same memory. If one of them is longer, the other is the block
 * of this rank in the longer one.
 */
function pairInPlace(
  { input, output }: ReturnType<typeof bufferLengths>,
  make: (length: number) => Tensor,
  rank: number,
) {
  if (input === 0 || output === 0) return { input: make(input), output: make(output) };
  const whole = make(Math.max(input, output));
  const partOf = (length: number) => {
    if (length === whole.data.length) return whole;
    const data = whole.data.subarray(rank * length, (rank + 1) * length);
    return { ...whole, data, shape: [length] };
  };
  return { input: partOf(input), output: partOf(output) };
}

function makeTensor(dtype: DType, length: number, placement: Placement): Tensor {
  const isOdd = placement.startsWith('at odd offsets');
  const bytes = byteSize(dtype) * (isOdd ? before + length + after : length);
  // Memory that ranks share must stay shared when it is posted to other threads.
  const isShared = placement === 'in shared memory' || placement === 'with one input for all';
  const buffer = isShared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
  const data = viewOf(dtype, buffer, isOdd ? before * byteSize(dtype) : 0, length);
  return { data, dtype, shape: [length], device: '' };
}

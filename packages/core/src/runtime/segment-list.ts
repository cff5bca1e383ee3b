import { requireCounts, validateBuffers } from '../collectives/buffers.js';
import { clashError } from '../collectives/call-errors.js';
import type { CallerRequest } from '../collectives/caller-request.js';
import {
  type Collective,
  hasOneResult,
  inputBlocks,
  nameOf,
  outputBlocks,
  reads,
  writes,
} from '../collectives/collective.js';
import type { Refusals } from '../collectives/refusals.js';
import { blockCount, hasBlocks } from '../schedule/goal.js';
import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import type { DType } from '../values/dtype.js';
import { hashOf } from '../values/layout.js';
import type { Tensor } from '../values/tensor.js';
import { clashAmong, type UsedRange } from './clashes.js';
import type { RunOptions, Segments } from './communicator.js';

/** The tensors of one rank that together form one buffer. */
export type SegmentList = readonly Tensor[];

/** A requested collective and its memory. */
interface Buffers {
  readonly collective: Collective;
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly inputs: readonly SegmentList[];
  readonly outputs: readonly SegmentList[];
}

/** A validated call, and values derived from it. */
export interface CheckedCall extends Buffers {
  readonly dtype: DType;
  /** Number of elements of the whole buffer, all blocks included. */
  readonly length: number;
  /** The element at which each piece begins, followed by the total length. Calls may share the array. */
  readonly begins: Float64Array;
  /**
   * Hash of the buffer's composition, which must be equal on all ranks. It covers the caller's
   * `layout` and, for a buffer in pieces, where each piece begins.
   */
  readonly layout: number;
  /** How many values the call has, for errors, as in `RunOptions`. Default: 0. */
  readonly valueCount?: number | undefined;
  /** Whether all outputs may share the same memory. */
  readonly isShared: boolean;
  /** The larger request that the call is a part of; undefined if there is none. */
  readonly request: CallerRequest | undefined;
  /** The calls that this rank had refused when it made this one. Default: none. */
  readonly refusals?: Refusals | undefined;
}

/** Whether a buffer is a list of segments, instead of a single tensor. */
export function isList(buffer: Segments): buffer is SegmentList {
  return Array.isArray(buffer);
}

/**
 * A buffer as the list of its segments.
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { listOf } from '@coll/core/plugin';
 *
 * const [first, second] = [tensor([1]), tensor([2])];
 * console.log(listOf(first).length, listOf([first, second]).length); // 1 2
 * ```
 */
export function listOf(buffer: Segments): SegmentList {
  return isList(buffer) ? buffer : [buffer];
}

/**
 * Validates a call.
 * @throws ValueError if buffers do not fit the collective, each other, or the pieces of other ranks
 */
export function checkedCall(
  buffers: Buffers,
  { layout = 0, valueCount, sharedResult = false, request }: RunOptions,
  refusals?: Refusals,
): CheckedCall {
  const { collective, size, localRanks, inputs, outputs } = buffers;
  const isShared = hasOneResult(collective) && sharedResult;
  if (!Number.isSafeInteger(layout))
    throw new ValueError('ERR_COLL_VALUE', `layout must be a whole number, got ${quote(layout)}`);
  validateSegments(buffers, isShared);
  const { dtype } = sourceOf(collective, localRanks, inputs, outputs)[0] as Tensor;
  const begins = beginsOf(buffers);
  // Written out because a spread takes microseconds.
  return {
    collective,
    size,
    localRanks,
    inputs,
    outputs,
    dtype,
    length: begins.at(-1) as number,
    begins,
    layout: begins.length === 2 ? layout : hashOf([layout, ...begins]),
    valueCount,
    isShared,
    request,
    refusals,
  };
}

function validateSegments(buffers: Buffers, isShared: boolean): void {
  const { collective, size, localRanks, inputs, outputs } = buffers;
  requireCounts(buffers, inputs, outputs);
  const count = inputs[0]?.length ?? 0;
  const isOtherCount = (pieces?: SegmentList) => pieces?.length !== count;
  if (count === 0 || inputs.some(isOtherCount) || outputs.some(isOtherCount))
    throw segmentsError(collective, 'every input and output must have the same number of segments, at least one');
  if (count > 1 && hasBlocks(collective.kind)) {
    const advice = 'so each of its buffers must be a single segment; join the segments first';
    throw segmentsError(collective, `this collective has one block per rank, ${advice}`);
  }
  const check = { collective, size, localRanks, sharedResult: isShared };
  for (let piece = 0; piece < count; piece++) {
    const at = (lists: readonly SegmentList[]) => lists.map((pieces) => pieces[piece] as Tensor);
    validateBuffers(check, at(inputs), at(outputs));
  }
  if (count === 1) return;
  const source = sourceOf(collective, localRanks, inputs, outputs);
  const isOtherDType = ({ dtype }: Tensor) => dtype !== source[0]?.dtype;
  const isOdd = (pieces: SegmentList, index: number) =>
    reads(collective, localRanks[index]) && pieces.some(isOtherDType);
  if (source.some(isOtherDType) || inputs.some(isOdd))
    throw segmentsError(collective, 'all segments of a buffer must have one dtype');
  requireApart(buffers, isShared);
}

function segmentsError(collective: Collective, problem: string): ValueError {
  const operation = nameOf(collective);
  return new ValueError('ERR_COLL_BUFFER', `${operation}: ${problem}`, { operation });
}

/** @throws ValueError if a written piece overlaps another one, of the same or another rank */
function requireApart({ collective, localRanks, inputs, outputs }: Buffers, isShared: boolean): void {
  const byBuffer = new Map<ArrayBufferLike, UsedRange[]>();
  const add = (pieces: SegmentList, rank: number, isWritten: boolean) => {
    for (const [piece, { data }] of pieces.entries()) {
      const stretch = { begin: data.byteOffset, end: data.byteOffset + data.byteLength, rank, piece, isWritten };
      const known = byBuffer.get(data.buffer);
      if (known) known.push(stretch);
      else byBuffer.set(data.buffer, [stretch]);
    }
  };
  for (const [index, rank] of localRanks.entries()) {
    if (reads(collective, rank)) add(inputs[index] as SegmentList, rank, false);
    if (writes(collective, rank)) add(outputs[index] as SegmentList, rank, true);
  }
  for (const stretches of byBuffer.values()) {
    const clash = clashAmong(stretches, isShared);
    if (clash) throw clashError(nameOf(collective), ...clash);
  }
}

/**
 * The pieces that define dtype and length: the input of a local rank that contributes, or else the
 * first output.
 */
function sourceOf(
  collective: Collective,
  localRanks: readonly number[],
  inputs: readonly SegmentList[],
  outputs: readonly SegmentList[],
): SegmentList {
  const reader = localRanks.findIndex((rank) => reads(collective, rank));
  return (reader < 0 ? outputs[0] : inputs[reader]) as SegmentList;
}

function beginsOf({ collective, size, localRanks, inputs, outputs }: Buffers): Float64Array {
  const isFromInput = localRanks.some((rank) => reads(collective, rank));
  const blocks = isFromInput ? inputBlocks(collective, size) : outputBlocks(collective, size);
  const factor = blockCount(collective.kind, size) / blocks;
  const source = sourceOf(collective, localRanks, inputs, outputs);
  if (source.length === 1) return beginsOfWhole((source[0] as Tensor).data.length * factor);
  const begins = new Float64Array(source.length + 1);
  for (let piece = 0; piece < source.length; piece++)
    begins[piece + 1] = (begins[piece] as number) + (source[piece] as Tensor).data.length * factor;
  return begins;
}

// The latest result, because engines take known arrays faster than new ones.
let whole = Float64Array.of(0, 0);

/** The begins of a buffer in one piece. */
function beginsOfWhole(length: number): Float64Array {
  if (whole[1] !== length) whole = Float64Array.of(0, length);
  return whole;
}

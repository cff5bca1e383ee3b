import type { CallerRequest, Purpose } from '../collectives/caller-request.js';
import { concatAlong, requireAxis, requireJoinable } from '../kernels/concat-along.js';
import { arrange } from '../packing/arrangement.js';
import { Views } from '../packing/views.js';
import type { Communicator, RunOptions } from '../runtime/communicator.js';
import type { Phases, Run } from '../runtime/drive.js';
import { JoinedSegments } from '../runtime/joined-segments.js';
import { ValueError } from '../support/errors.js';
import { slice } from '../values/concatenate.js';
import { allocateUnset } from '../values/dtype.js';
import { elementCount, requireElements, reshape, type Tensor } from '../values/tensor.js';
import type { ExchangeBuffers } from './exchange-buffers.js';
import { GatherMessage } from './gather-message.js';

/**
 * Up to this many bytes, copies and padding cost less than one more synchronization of the ranks.
 */
const smallBytes = 1 << 16;

/** Maximum number of bytes of a buffer, because buffers are addressed by int32. */
const mostBytes = 2 ** 31 - 1;

/** The layout and the number of the values of a call, as in `RunOptions`. */
export type Composition = Required<Pick<RunOptions, 'layout' | 'valueCount'>>;

/** The composition and the caller's request, which all collectives of a call share. */
export type PartOfCall = Composition & Required<Pick<Run, 'request'>>;

/** What gathers use of a communicator with one local rank, and memory for their messages. */
export interface Member extends Pick<Communicator, 'size' | 'localRanks'> {
  readonly buffers: ExchangeBuffers;
}

/**
 * Concatenates the values of all ranks along an axis, in rank order, in new memory. The size of
 * that axis may differ between ranks.
 * @throws ValueError and OutOfRangeError for an axis that a value does not have, before anything is
 * sent; InvalidArgumentError, the same on all ranks, if other dimensions differ
 */
export function* gatherAlong(
  member: Member,
  values: readonly Tensor[],
  axis: number,
  whole: Composition,
  purpose: Purpose = 'gather',
): Phases<Tensor[]> {
  for (const { shape } of values) requireAxis(axis, shape);
  if (values.length === 0) return [];
  const { dtype } = values[0] as Tensor;
  const request: CallerRequest = {
    collective: { kind: 'all-gather' },
    dtype,
    length: values.length,
    purpose,
  };
  const part = { ...whole, request };
  const message = new GatherMessage(member.buffers, values, member.size);
  yield [allGather(message.buffer.own, message.buffer.all, part)];
  const shapes = message.shapes();
  values.forEach((_, index) => {
    const alike = shapes.map((ofRank) => ofRank[index] as readonly number[]);
    requireJoinable(alike, axis, 'all-gather');
  });
  const small = message.joined(shapes, axis);
  member.buffers.giveBack(message.buffer);
  if (small) return small;
  const memory = memoryFor(values, shapes);
  yield* collect(member, values, memory, part);
  const { joined, parts } = memory;
  return joined.map((whole, index) => {
    const pieces = parts.map((ofRank) => ofRank[index] as Tensor);
    const { shape } = pieces[0] as Tensor;
    // Rows of the ranks interleave, unless there is only one row.
    if (elementCount(shape.slice(0, axis)) !== 1) return concatAlong(pieces, axis);
    const along = pieces.reduce((sum, piece) => sum + (piece.shape[axis] as number), 0);
    return reshape(whole, shape.with(axis, along));
  });
}

/**
 * Exchanges numbers with every rank, as a part of a call. All ranks pass equally many numbers, at
 * least one.
 */
export function* exchange(
  { size, buffers }: Member,
  numbers: readonly number[],
  part: PartOfCall,
): Phases<readonly (readonly number[])[]> {
  const { length } = numbers;
  const buffer = buffers.take('float64', length, size);
  (buffer.own.data as Float64Array).set(numbers);
  yield [allGather(buffer.own, buffer.all, part)];
  const all = Array.from(buffer.all.data, Number);
  buffers.giveBack(buffer);
  return Array.from({ length: size }, (_, rank) => all.slice(rank * length, (rank + 1) * length));
}

/** Memory for the values of all ranks. */
interface GatheredMemory {
  /** Each value of all ranks, in rank order. */
  readonly joined: readonly Tensor[];
  /** Views of the values of each rank. */
  readonly parts: readonly (readonly Tensor[])[];
}

/**
 * Allocates tensors of these shapes for every rank, with undefined contents.
 * @throws ValueError, the same on all ranks, for more elements than a tensor can have
 */
export function memoryFor(
  values: readonly Tensor[],
  shapes: readonly (readonly (readonly number[])[])[],
): GatheredMemory {
  const joined = values.map(({ dtype, device }, index) => {
    const length = shapes.reduce((sum, ofRank) => sum + elementCount(ofRank[index] as readonly number[]), 0);
    requireElements(length);
    return { data: allocateUnset(dtype, length), dtype, shape: [length], device };
  });
  const ends = values.map(() => 0);
  const parts = shapes.map((ofRank) =>
    ofRank.map((shape, index) => {
      const begin = ends[index] as number;
      ends[index] = begin + elementCount(shape);
      return reshape(slice(joined[index] as Tensor, begin, ends[index] as number), shape);
    }),
  );
  return { joined, parts };
}

/**
 * Copies `own` of every rank `r` to `parts[r]` on all ranks. All ranks must already have exchanged
 * the lengths of all parts. Small parts are padded to the longest and all-gathered at once. A single
 * value of the same length on all ranks is all-gathered in place; otherwise each rank broadcasts its
 * part.
 * @throws ValueError if own memory was detached after its length was announced
 */
export function* collect(
  member: Member,
  own: readonly Tensor[],
  { joined, parts }: GatheredMemory,
  part: PartOfCall,
): Phases<void> {
  const rank = member.localRanks[0] as number;
  requireWhole(own, parts[rank] as readonly Tensor[], rank);
  const longest = Math.max(...parts.map(byteLengthOf));
  if (longest === 0) return;
  if (longest <= smallBytes) return yield* collectPadded(member, own, parts, longest, part);
  const view = longest <= mostBytes ? bytesOf : (tensor: Tensor) => tensor;
  const [whole, ...others] = joined as readonly [Tensor, ...Tensor[]];
  if (others.length === 0 && whole.data.byteLength === longest * parts.length) {
    yield [allGather(view(own[0] as Tensor), view(whole), part)];
    return;
  }
  const views = new Views();
  yield parts.flatMap((ofRank, root) => {
    const outputs = ofRank.filter(hasElements).map(view);
    const inputs = root === rank ? own.filter(hasElements).map(view) : outputs;
    return arrange(outputs).map(
      ({ pieces }): Run => ({
        collective: { kind: 'broadcast', root },
        inputs: [views.cut(inputs, pieces)],
        outputs: [views.cut(outputs, pieces)],
        ...part,
      }),
    );
  });
}

function* collectPadded(
  { buffers }: Member,
  own: readonly Tensor[],
  parts: readonly (readonly Tensor[])[],
  longest: number,
  part: PartOfCall,
): Phases<void> {
  const buffer = buffers.take('uint8', longest, parts.length);
  new JoinedSegments(own.map(bytesOf)).copyTo(buffer.own.data, 0, longest);
  yield [allGather(buffer.own, buffer.all, part)];
  for (const [rank, ofRank] of parts.entries()) {
    const { data } = slice(buffer.all, rank * longest, (rank + 1) * longest);
    new JoinedSegments(ofRank.map(bytesOf)).copyFrom(data, 0, longest);
  }
  buffers.giveBack(buffer);
}

function allGather(own: Tensor, all: Tensor, part: PartOfCall): Run {
  return { collective: { kind: 'all-gather' }, inputs: [own], outputs: [all], ...part };
}

function requireWhole(own: readonly Tensor[], received: readonly Tensor[], rank: number): void {
  if (own.every(({ data }, index) => data.length === received[index]?.data.length)) return;
  throw new ValueError(
    'ERR_COLL_BUFFER',
    `the buffer of a value of rank ${rank} was detached (transferred or resized) during the call; keep it until the call has ended`,
    { rank },
  );
}

/** The memory of a tensor as bytes, so that values of several dtypes fit in one collective. */
function bytesOf({ data, device }: Tensor): Tensor {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return { data: bytes, dtype: 'uint8', shape: [bytes.length], device };
}

function byteLengthOf(tensors: readonly Tensor[]): number {
  return tensors.reduce((sum, { data }) => sum + data.byteLength, 0);
}

function hasElements({ data }: Tensor): boolean {
  return data.length > 0;
}

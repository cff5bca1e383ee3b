import type { CallerRequest } from '../collectives/caller-request.js';
import type { Communicator } from '../collectives/communicator.js';
import { arrange } from '../packing/arrangement.js';
import { slice } from '../packing/concatenate.js';
import { Views } from '../packing/views.js';
import type { Phases, Run } from '../runtime/drive.js';
import { ValueError } from '../support/errors.js';
import { JoinedSegments } from '../threads/joined-segments.js';
import { concatAlong, requireAxis, requireJoinable } from '../values/concat-along.js';
import { elementCount, requireElements, reshape, type Tensor, tensor, zeros } from '../values/tensor.js';

/**
 * Up to this many bytes, copies and padding cost less than one more synchronization of the ranks.
 */
const smallBytes = 1 << 16;

/** Maximum number of bytes of a buffer, because buffers are addressed by int32. */
const mostBytes = 2 ** 31 - 1;

/** The layout and the caller's request, which all collectives of a call share. */
export type PartOfCall = Required<Pick<Run, 'layout' | 'request'>>;

/** The fields that gathers use of a communicator with one local rank. */
export type Member = Pick<Communicator, 'size' | 'localRanks'>;

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
  layout: number,
): Phases<Tensor[]> {
  for (const { shape } of values) requireAxis(axis, shape);
  if (values.length === 0) return [];
  const { dtype } = values[0] as Tensor;
  const request: CallerRequest = {
    collective: { kind: 'all-gather' },
    dtype,
    length: values.length,
    purpose: 'gather',
  };
  const part = { layout, request };
  const numbers = yield* exchange(
    member,
    values.flatMap(({ shape }) => shape),
    part,
  );
  const shapes = numbers.map((ofRank) => cut(ofRank, values));
  values.forEach((_, index) => {
    const alike = shapes.map((ofRank) => ofRank[index] as readonly number[]);
    requireJoinable(alike, axis, 'all-gather');
  });
  const { joined, parts } = memoryFor(values, shapes);
  yield* collect(member, values, parts, part);
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
  { size }: Member,
  numbers: readonly number[],
  part: PartOfCall,
): Phases<readonly (readonly number[])[]> {
  const all = zeros('float64', [size * numbers.length]);
  yield [{ collective: { kind: 'all-gather' }, inputs: [tensor(Float64Array.from(numbers))], outputs: [all], ...part }];
  return Array.from({ length: size }, (_, rank) =>
    Array.from(slice(all, rank * numbers.length, (rank + 1) * numbers.length).data, Number),
  );
}

/**
 * Allocates tensors of these shapes for every rank: `joined` holds each value of all ranks in
 * order, `parts` are views of the values of each rank.
 * @throws ValueError, the same on all ranks, for more elements than a tensor can have
 */
export function memoryFor(
  values: readonly Tensor[],
  shapes: readonly (readonly (readonly number[])[])[],
): { readonly joined: readonly Tensor[]; readonly parts: readonly (readonly Tensor[])[] } {
  const joined = values.map(({ dtype, device }, index) => {
    const length = shapes.reduce((sum, ofRank) => sum + elementCount(ofRank[index] as readonly number[]), 0);
    requireElements(length);
    return zeros(dtype, [length], device);
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
 * the lengths of all parts. Small parts are padded to the longest and all-gathered at once;
 * otherwise each rank broadcasts its part.
 * @throws ValueError if own memory was detached after its length was announced
 */
export function* collect(
  { localRanks }: Member,
  own: readonly Tensor[],
  parts: readonly (readonly Tensor[])[],
  part: PartOfCall,
): Phases<void> {
  const rank = localRanks[0] as number;
  requireWhole(own, parts[rank] as readonly Tensor[], rank);
  const longest = Math.max(...parts.map(byteLengthOf));
  if (longest === 0) return;
  if (longest <= smallBytes) return yield* collectPadded(own, parts, longest, part);
  const views = new Views();
  const view = longest <= mostBytes ? bytesOf : (tensor: Tensor) => tensor;
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
  own: readonly Tensor[],
  parts: readonly (readonly Tensor[])[],
  longest: number,
  part: PartOfCall,
): Phases<void> {
  const padded = zeros('uint8', [longest]);
  const gathered = zeros('uint8', [parts.length * longest]);
  new JoinedSegments(own.map(bytesOf)).copyTo(padded.data, 0, longest);
  yield [{ collective: { kind: 'all-gather' }, inputs: [padded], outputs: [gathered], ...part }];
  for (const [rank, ofRank] of parts.entries()) {
    const { data } = slice(gathered, rank * longest, (rank + 1) * longest);
    new JoinedSegments(ofRank.map(bytesOf)).copyFrom(data, 0, longest);
  }
}

function requireWhole(own: readonly Tensor[], told: readonly Tensor[], rank: number): void {
  if (own.every(({ data }, index) => data.length === told[index]?.data.length)) return;
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

/** Splits numbers into one list per value. Each list has as many numbers as the shape of its value. */
function cut(numbers: readonly number[], values: readonly Tensor[]): readonly (readonly number[])[] {
  let end = 0;
  return values.map(({ shape }) => {
    end += shape.length;
    return numbers.slice(end - shape.length, end);
  });
}

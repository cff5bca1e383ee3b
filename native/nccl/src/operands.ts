import { type Collective, type Tensor, ValueError } from '@coll/core';
import { bufferLengths, inputBlocks, outputBlocks } from '@coll/core/internal';
import { nameOf, outputDType, reads, writes } from '@coll/core/plugin';
import { bufferOf, isOnGpu } from './device-buffer.js';

/** Number of elements of a tensor in any memory. */
export function lengthOf(tensor: Tensor): number {
  return tensor.memory ? tensor.memory.length : tensor.data.length;
}

/**
 * A tensor with the dtype of the call: the input of the first local rank that reads its input, or
 * the first output if no local rank does.
 */
export function sampleOf(
  collective: Collective,
  localRanks: readonly number[],
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): Tensor {
  const reader = localRanks.findIndex((rank) => reads(collective, rank));
  return (reader < 0 ? outputs[0] : inputs[reader]) as Tensor;
}

/** Number of elements per rank (`n` in `Collective`); the same on all ranks. */
export function countOf(
  { collective, inputs, outputs }: Buffers,
  { size, ranks }: { readonly size: number; readonly ranks: readonly number[] },
): number {
  const isRead = ranks.some((rank) => reads(collective, rank));
  const blocks = isRead ? inputBlocks(collective, size) : outputBlocks(collective, size);
  return lengthOf(sampleOf(collective, ranks, inputs, outputs)) / blocks;
}

/**
 * Number of elements in the input of each rank that reads one, even if it is in another process.
 */
export function lengthOfCall(buffers: Buffers, members: Parameters<typeof countOf>[1]): number {
  return countOf(buffers, members) * inputBlocks(buffers.collective, members.size);
}

/** A collective and the tensors of the local ranks. */
interface Buffers {
  readonly collective: Collective;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

/**
 * Validates operands of which some are in GPU memory: dtypes and lengths must agree across local
 * ranks, and in-place operands must start at corresponding elements.
 * @throws ValueError that names the rank and operation
 */
export function validateOperands(
  collective: Collective,
  { size, localRanks }: { readonly size: number; readonly localRanks: readonly number[] },
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  const operation = nameOf(collective);
  const fail = (rank: number, message: string) =>
    new ValueError('ERR_COLL_BUFFER', `${operation}: rank ${rank}: ${message}`, { operation, rank });
  const source = sampleOf(collective, localRanks, inputs, outputs);
  const count = countOf({ collective, inputs, outputs }, { size, ranks: localRanks });
  const resultDType = outputDType(collective, source.dtype);
  localRanks.forEach((rank, index) => {
    const [input, output] = [inputs[index] as Tensor, outputs[index] as Tensor];
    if (!Number.isInteger(count))
      throw fail(
        rank,
        `the length of the input must be divisible by ${size}, the number of ranks, got ${lengthOf(source)} elements`,
      );
    const lengths = bufferLengths(collective, count, size, rank);
    const isRead = reads(collective, rank);
    if (isRead && (input.dtype !== source.dtype || lengthOf(input) !== lengths.input))
      throw fail(rank, `input is ${textOf(input)}, the others are ${textOf(source)}`);
    if (!isRead && collective.kind === 'scatter' && lengthOf(input) > 0)
      throw fail(rank, `input must be empty, because only the root has one; it has ${lengthOf(input)} elements`);
    if (!writes(collective, rank)) {
      if (collective.kind === 'reduce' || lengthOf(output) === 0) return;
      throw fail(rank, `output must be empty, because only the root gets one; it has ${lengthOf(output)} elements`);
    }
    if (output.dtype !== resultDType || lengthOf(output) !== lengths.output)
      throw fail(rank, `output is ${textOf(output)}, must be ${lengths.output} elements of ${resultDType}`);
    if (!isRead || standsInPlace(collective, size, rank, input, output)) return;
    if (collective.kind === 'all-to-all')
      throw fail(rank, 'output overlaps its own input: all-to-all does not run in place');
    throw fail(rank, 'output overlaps its own input with an offset: an element may overlap only itself');
  });
  refuseClashes(operation, collective, localRanks, inputs, outputs);
}

function textOf(tensor: Tensor): string {
  return `${lengthOf(tensor)} elements of ${tensor.dtype}`;
}

function standsInPlace(collective: Collective, size: number, rank: number, input: Tensor, output: Tensor): boolean {
  if (!overlap(input, output)) return true;
  if (collective.kind === 'all-to-all' && size > 1) return false;
  const [read, written] = [byteRangeOf(input), byteRangeOf(output)];
  const blocks = outputBlocks(collective, size) - inputBlocks(collective, size);
  const block = Math.min(read.end - read.begin, written.end - written.begin);
  return input.dtype === output.dtype && read.begin === written.begin + Math.sign(blocks) * block * rank;
}

function refuseClashes(
  operation: string,
  collective: Collective,
  ranks: readonly number[],
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  for (const [index, rank] of ranks.entries()) {
    if (!writes(collective, rank)) continue;
    const output = outputs[index] as Tensor;
    const other = ranks.find((peer, place) => {
      if (place === index) return false;
      const isRead = reads(collective, peer) && overlap(output, inputs[place] as Tensor);
      return isRead || (writes(collective, peer) && overlap(output, outputs[place] as Tensor));
    });
    if (other === undefined) continue;
    const clash = `the output of rank ${rank} overlaps the memory of rank ${other}`;
    throw new ValueError('ERR_COLL_BUFFER', `${operation}: ${clash}`, { operation, rank });
  }
}

/** Whether two tensors share elements. */
function overlap(one: Tensor, other: Tensor): boolean {
  const [a, b] = [byteRangeOf(one), byteRangeOf(other)];
  return a.memory === b.memory && a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end;
}

/** A range of bytes in a buffer. */
export interface ByteRange {
  readonly memory: object;
  readonly begin: number;
  readonly end: number;
}

export function byteRangeOf(tensor: Tensor): ByteRange {
  if (isOnGpu(tensor)) {
    const { memory, byteOffset, byteLength } = bufferOf(tensor);
    return { memory, begin: byteOffset, end: byteOffset + byteLength };
  }
  const { buffer, byteOffset, byteLength } = tensor.data;
  return { memory: buffer, begin: byteOffset, end: byteOffset + byteLength };
}

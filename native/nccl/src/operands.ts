import { type Collective, type Tensor, ValueError } from '@coll/core';
import { nameOf, outputDType, outputLength } from '@coll/core/plugin';
import { readsInput, writesOutput } from './call-batch.js';
import { bufferOf, isOnGpu } from './device-buffer.js';

/** Elements of a tensor, wherever they are. */
export function lengthOf(tensor: Tensor): number {
  return tensor.memory ? tensor.memory.length : tensor.data.length;
}

/**
 * Checks what is in the memory of GPUs: that dtypes and lengths agree among the local ranks, and that whoever works in place does so element
 * for element. @throws ValueError, naming rank and operation
 */
export function validateOperands(
  collective: Collective,
  { size, localRanks }: { readonly size: number; readonly localRanks: readonly number[] },
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  const operation = nameOf(collective);
  const fail = (rank: number, told: string) =>
    new ValueError('ERR_COLL_BUFFER', `${operation}: rank ${rank}: ${told}`, { operation, rank });
  const reads = localRanks.findIndex((rank) => readsInput(collective, rank));
  const source = (reads < 0 ? outputs[0] : inputs[reads]) as Tensor;
  const length = lengthOf(source);
  const expected = { dtype: outputDType(collective, source.dtype), length: outputLength(collective, length, size) };
  localRanks.forEach((rank, index) => {
    const [input, output] = [inputs[index] as Tensor, outputs[index] as Tensor];
    if (readsInput(collective, rank) && (input.dtype !== source.dtype || lengthOf(input) !== length)) {
      throw fail(rank, `input is ${told(input)}, others are ${told(source)}`);
    }
    if (collective.kind === 'reduce-scatter' && length % size !== 0)
      throw fail(rank, `input of ${length} elements does not divide among ${size} ranks`);
    if (!writesOutput(collective, rank)) return;
    if (output.dtype !== expected.dtype || lengthOf(output) !== expected.length)
      throw fail(rank, `output is ${told(output)}, must be ${expected.length} elements of ${expected.dtype}`);
    if (readsInput(collective, rank) && !standsInPlace(collective, rank, input, output))
      throw fail(rank, 'output overlaps its own input elsewhere than element for element');
  });
  refuseClashes(operation, collective, localRanks, inputs, outputs);
}

function told(tensor: Tensor): string {
  return `${lengthOf(tensor)} elements of ${tensor.dtype}`;
}

function standsInPlace(collective: Collective, rank: number, input: Tensor, output: Tensor): boolean {
  if (!overlap(input, output)) return true;
  const [read, written] = [placeOf(input), placeOf(output)];
  return input.dtype === output.dtype && read.begin === written.begin + shiftOf(collective, rank, read, written);
}

/** How far from its output's beginning an input that is worked on in place begins. */
function shiftOf({ kind }: Collective, rank: number, read: Place, written: Place): number {
  if (kind === 'all-gather') return rank * (read.end - read.begin);
  return kind === 'reduce-scatter' ? -rank * (written.end - written.begin) : 0;
}

function refuseClashes(
  operation: string,
  collective: Collective,
  ranks: readonly number[],
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  for (const [index, rank] of ranks.entries()) {
    if (!writesOutput(collective, rank)) continue;
    const output = outputs[index] as Tensor;
    const other = ranks.find((peer, place) => {
      if (place === index) return false;
      const isRead = readsInput(collective, peer) && overlap(output, inputs[place] as Tensor);
      return isRead || (writesOutput(collective, peer) && overlap(output, outputs[place] as Tensor));
    });
    if (other === undefined) continue;
    const clash = `one buffer was given twice: the output of rank ${rank} overlaps memory of rank ${other}`;
    throw new ValueError('ERR_COLL_BUFFER', `${operation}: ${clash}`, { operation, rank });
  }
}

/** Whether two tensors share elements. */
function overlap(one: Tensor, other: Tensor): boolean {
  const [a, b] = [placeOf(one), placeOf(other)];
  return a.memory === b.memory && a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end;
}

/** Bytes of a memory. */
export interface Place {
  readonly memory: object;
  readonly begin: number;
  readonly end: number;
}

export function placeOf(tensor: Tensor): Place {
  if (isOnGpu(tensor)) {
    const { memory, byteOffset, byteLength } = bufferOf(tensor);
    return { memory, begin: byteOffset, end: byteOffset + byteLength };
  }
  const { buffer, byteOffset, byteLength } = tensor.data;
  return { memory: buffer, begin: byteOffset, end: byteOffset + byteLength };
}

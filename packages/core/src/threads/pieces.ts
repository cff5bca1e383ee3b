import { validateBuffers } from '../buffers.js';
import { type Collective, nameOf } from '../collective.js';
import { ValueError } from '../errors.js';
import type { Tensor } from '../tensor.js';

/** The tensors of one rank that stand for one buffer. */
export type Pieces = readonly Tensor[];

export interface Buffers {
  readonly collective: Collective;
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly isShared: boolean;
  readonly inputs: readonly Pieces[];
  readonly outputs: readonly Pieces[];
}

/** @throws ValueError for buffers that do not fit the collective, each other, or the pieces of other ranks */
export function validatePieces({ collective, size, localRanks, isShared, inputs, outputs }: Buffers): void {
  const count = inputs[0]?.length ?? 0;
  const operation = nameOf(collective);
  const fail = (problem: string) => new ValueError('ERR_COLL_BUFFER', `${operation}: ${problem}`, { operation });
  if ([...inputs, ...outputs].some((pieces) => pieces.length !== count || count === 0)) {
    throw fail('every input and output must be in as many pieces, one at least');
  }
  if (count > 1 && (collective.kind === 'all-gather' || collective.kind === 'reduce-scatter')) {
    throw fail('its buffers have blocks and cannot be in pieces; join them first');
  }
  for (let piece = 0; piece < count; piece++) {
    const at = (lists: readonly Pieces[]) => lists.map((pieces) => pieces[piece] as Tensor);
    validateBuffers({ collective, size, localRanks, sharedResult: isShared }, at(inputs), at(outputs));
  }
  const source = sourceOf(collective, localRanks, inputs, outputs);
  const read = inputs.filter((_, index) => reads(collective, localRanks[index]));
  if ([source, ...read].some((pieces) => pieces.some(({ dtype }) => dtype !== source[0]?.dtype))) {
    throw fail('all pieces of a buffer have one dtype');
  }
}

/** The pieces that tell dtype and length: those of a rank that is read from or, where that is elsewhere, written to. */
export function sourceOf(
  collective: Collective,
  localRanks: readonly number[],
  inputs: readonly Pieces[],
  outputs: readonly Pieces[],
): Pieces {
  const reader = localRanks.findIndex((rank) => reads(collective, rank));
  return (reader < 0 ? outputs[0] : inputs[reader]) as Pieces;
}

/** Where each piece of the whole buffer begins, and at last its length. */
export function beginsOf({ collective, size, localRanks, inputs, outputs }: Buffers): Float64Array {
  const begins = [0];
  const factor = collective.kind === 'all-gather' ? size : 1;
  for (const { data } of sourceOf(collective, localRanks, inputs, outputs)) {
    begins.push((begins.at(-1) as number) + data.length * factor);
  }
  return Float64Array.from(begins);
}

export function reads(collective: Collective, rank: number | undefined): boolean {
  return collective.kind !== 'broadcast' || collective.root === rank;
}

export function writes(collective: Collective, rank: number | undefined): boolean {
  return collective.kind !== 'reduce' || collective.root === rank;
}

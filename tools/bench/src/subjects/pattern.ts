import type { CollectiveKind } from '@coll/core';

// A prime, so that chunks and cache lines begin at different places of the pattern.
const period = 7;
const written = period * 256;

const contribution = (rank: number, index: number) => ((index % period) + 1) * (rank + 1);

/** Fills a rank's input with small numbers, whose sums are exact in float32 for thousands of ranks. */
export function writePattern(into: Float32Array, rank: number): void {
  const count = Math.min(written, into.length);
  for (let index = 0; index < count; index++) into[index] = contribution(rank, index);
  for (let done = count; done < into.length; done *= 2) into.copyWithin(done, 0, done);
}

/** A rank, the number of ranks, and the collective. */
export interface Part {
  readonly kind: CollectiveKind;
  readonly rank: number;
  readonly ranks: number;
}

/** Describes the first wrong element of a rank's output; undefined if all are right. A root is rank 0. */
export function problemOf({ kind, rank, ranks }: Part, output: Float32Array): string | undefined {
  if ((kind === 'reduce' || kind === 'gather') && rank !== 0) return undefined;
  const allRanks = ranks * (ranks + 1) * 0.5;
  const block = output.length / ranks;
  const gathered = (index: number) => contribution(Math.floor(index / block), index % block);
  const expectedAt = {
    'all-reduce': (index: number) => contribution(0, index) * allRanks,
    reduce: (index: number) => contribution(0, index) * allRanks,
    'reduce-scatter': (index: number) => contribution(0, rank * output.length + index) * allRanks,
    broadcast: (index: number) => contribution(0, index),
    'all-gather': gathered,
    gather: gathered,
    scatter: (index: number) => contribution(0, rank * output.length + index),
    'all-to-all': (index: number) => contribution(Math.floor(index / block), rank * block + (index % block)),
  }[kind];
  for (let index = 0; index < output.length; index++) {
    const expected = expectedAt(index);
    if (output[index] !== expected)
      return `wrong result on rank ${rank}: element ${index} is ${output[index]}, not ${expected}`;
  }
  return undefined;
}

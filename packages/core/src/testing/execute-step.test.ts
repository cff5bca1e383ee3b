import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combineKernel } from '../kernels/combine.js';
import { type ChunkPlaces, executeStep, scratchLength } from './execute-step.js';

const add = combineKernel('float64', 'sum');

interface Elements extends ChunkPlaces {
  readonly offsets: readonly number[];
}

/**
 * The elements of all ranks lie in one array, each rank's at its own offset. The chunk begins with
 * element `begin` of the rank.
 */
function placesOf(
  ranks: number,
  length: number,
  valueAt: (rank: number, index: number) => number,
  begin = 0,
): Elements {
  const memory = new Float64Array(ranks * (length + 1));
  const offsets = Array.from({ length: ranks }, (_, rank) => rank * (length + 1) + 1);
  offsets.forEach((offset, rank) => {
    for (let index = 0; index < length; index++) memory[offset + index] = valueAt(rank, index);
  });
  return { arrays: offsets.map(() => memory), offsets, offsetOf: (rank) => (offsets[rank] as number) + begin };
}

function elementsOf({ arrays, offsets }: Elements, rank: number, length: number): number[] {
  const begin = offsets[rank] as number;
  return [...(arrays[rank] as Float64Array).subarray(begin, begin + length)];
}

describe('executeStep', () => {
  it('copies one operand', () => {
    const places = placesOf(2, 4, (rank, index) => 10 * rank + index, 1);
    executeStep({ to: 0, chunk: 0, operands: [1] }, places, 2, add, new Float64Array(scratchLength));
    expect(elementsOf(places, 0, 4)).toEqual([0, 11, 12, 3]);
    expect(elementsOf(places, 1, 4)).toEqual([10, 11, 12, 13]);
  });

  it('folds operands in order, with the target at any position among them', () => {
    // An operation that does not commute: it appends the digit of the right operand to the left operand.
    const append = ((into, intoAt, a, aAt, b, bAt, count) => {
      for (let i = 0; i < count; i++) into[intoAt + i] = (a[aAt + i] as number) * 10 + (b[bAt + i] as number);
    }) as typeof add;
    const scratch = new Float64Array(scratchLength);
    for (const [operands, expected] of [
      [[0, 1], 12],
      [[1, 0], 21],
      [[0, 1, 2], 123],
      [[2, 1, 0], 321],
      [[1, 0, 3, 2], 2143],
    ] as const) {
      for (const to of operands) {
        const places = placesOf(4, 3, (rank) => rank + 1);
        executeStep({ to, chunk: 0, operands }, places, 2, append, scratch);
        expect(elementsOf(places, to, 3)).toEqual([expected, expected, to + 1]);
        for (const other of [0, 1, 2, 3].filter((rank) => rank !== to)) {
          expect(elementsOf(places, other, 3)).toEqual([other + 1, other + 1, other + 1]);
        }
      }
    }
  });

  it('processes ranges longer than its scratch memory in blocks', () => {
    const length = 2 * scratchLength + 5;
    const ranges = fc.tuple(fc.nat({ max: length }), fc.nat({ max: length })).map((ends) => ends.sort((a, b) => a - b));
    fc.assert(
      fc.property(ranges, fc.nat({ max: 2 }), ([begin, end], to) => {
        const places = placesOf(3, length, (rank, index) => (rank + 1) * index, begin);
        const step = { to, chunk: 0, operands: [0, 1, 2] };
        executeStep(step, places, (end as number) - (begin as number), add, new Float64Array(scratchLength));
        const wrong = elementsOf(places, to, length).filter((element, index) => {
          const isInside = index >= (begin as number) && index < (end as number);
          return element !== (isInside ? 6 : to + 1) * index;
        });
        expect(wrong).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  it('does nothing for an empty range', () => {
    const places = placesOf(3, 1, (rank) => rank, 1);
    for (const operands of [[1], [0, 1], [0, 1, 2]]) {
      executeStep({ to: 0, chunk: 0, operands }, places, 0, add, new Float64Array(scratchLength));
    }
    expect([0, 1, 2].map((rank) => elementsOf(places, rank, 1))).toEqual([[0], [1], [2]]);
  });
});

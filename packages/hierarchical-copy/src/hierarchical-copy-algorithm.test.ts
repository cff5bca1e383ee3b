import type { Collective } from '@coll/core';
import { chainsOf, problemOf } from '@coll/core/schedule';
import { describe, expect, it } from 'vitest';
import { halvesOf, hierarchicalCopyAlgorithm } from './hierarchical-copy-algorithm.js';

const allReduce = (variant: number): Collective => ({ kind: 'all-reduce', op: 'sum', variant });
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('halvesOf', () => {
  it.each([
    [0, 2, { group0: [0], main0: 0, group1: [1], main1: 1 }],
    [1, 2, { group0: [1], main0: 1, group1: [0], main1: 0 }],
    [1, 4, { group0: [0, 1], main0: 1, group1: [2, 3], main1: 3 }],
    [2, 4, { group0: [2, 3], main0: 2, group1: [0, 1], main1: 0 }],
    [5, 6, { group0: [3, 4, 5], main0: 5, group1: [0, 1, 2], main1: 2 }],
    [0, 5, { group0: [0, 1], main0: 0, group1: [2, 3, 4], main1: 2 }],
    [2, 5, { group0: [2, 3, 4], main0: 2, group1: [0, 1], main1: 0 }],
    [4, 5, { group0: [2, 3, 4], main0: 4, group1: [0, 1], main1: 1 }],
  ])('splits the group for root %i of %i devices into %j', (root, ranks, halves) => {
    expect(halvesOf(root, ranks)).toEqual(halves);
  });

  it('places the two main devices half a group apart, except for one root if the number of devices is odd', () => {
    for (const ranks of upTo(17).slice(2)) {
      const odd = upTo(ranks).filter((root) => halvesOf(root, ranks).main1 !== (root + Math.floor(ranks / 2)) % ranks);
      expect(odd).toEqual(ranks % 2 === 0 ? [] : [Math.floor(ranks / 2)]);
    }
  });
});

describe('hierarchicalCopyAlgorithm', () => {
  it('is proved correct for all roots of 1 to 16 devices, with every contribution included', () => {
    for (const ranks of upTo(17).slice(1)) {
      expect(hierarchicalCopyAlgorithm().variants?.(ranks)).toBe(ranks);
      for (const root of upTo(ranks)) {
        const kinds: Collective[] = [allReduce(root), { kind: 'reduce', op: 'sum', root }, { kind: 'broadcast', root }];
        for (const collective of [
          ...kinds,
          { kind: 'all-gather' } as const,
          { kind: 'reduce-scatter', op: 'sum' } as const,
        ])
          expect(problemOf(hierarchicalCopyAlgorithm().plan(collective, ranks), collective)).toBeUndefined();
      }
    }
  });

  it('adds each half in rank order, then adds both sums', () => {
    const addsOf = (variant: number, ranks: number) =>
      hierarchicalCopyAlgorithm()
        .plan(allReduce(variant), ranks)
        .rounds.map((round) => round.filter(({ reduce }) => reduce).map(({ from, to }) => `${from}>${to}`))
        .filter((adds) => adds.length > 0);
    expect(addsOf(1, 4)).toEqual([['0>1', '2>3'], ['3>1']]);
    expect(addsOf(2, 4)).toEqual([['3>2', '1>0'], ['0>2']]);
    expect(addsOf(2, 5)).toEqual([['3>2', '4>2', '1>0'], ['0>2']]);
    // Adding the sums of two pairs is not a chain of four additions.
    expect(chainsOf(hierarchicalCopyAlgorithm().plan(allReduce(0), 4), allReduce(0))).toBeUndefined();
  });

  it('copies the total to the main device of both halves before it broadcasts', () => {
    const copies = hierarchicalCopyAlgorithm()
      .plan(allReduce(3), 6)
      .rounds.map((round) => round.filter(({ reduce }) => !reduce).map(({ from, to }) => `${from}>${to}`))
      .filter((moves) => moves.length > 0);
    expect(copies).toEqual([['3>0'], ['3>4', '3>5', '0>1', '0>2']]);
  });

  it('takes the root from the variant of the call, modulo the number of devices, or else 0', () => {
    const plan = (collective: Collective) => hierarchicalCopyAlgorithm().plan(collective, 3);
    expect(plan(allReduce(4))).toEqual(plan(allReduce(1)));
    expect(plan({ kind: 'all-reduce', op: 'sum' })).toEqual(plan(allReduce(0)));
  });
});

import { type Collective, ValueError } from '@coll/core';
import { chainsOf, draw, problemOf } from '@coll/core/schedule';
import { expect, it } from 'vitest';
import { reductionToOneAlgorithm } from './reduction-to-one-algorithm.js';

const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };

function collectivesOf(ranks: number): Collective[] {
  const roots = Array.from({ length: ranks }, (_, rank) => rank);
  return [
    allReduce,
    { kind: 'all-gather' },
    { kind: 'reduce-scatter', op: 'sum' },
    ...roots.map((root): Collective => ({ kind: 'reduce', op: 'sum', root })),
    ...roots.map((root): Collective => ({ kind: 'broadcast', root })),
  ];
}

it('reduction-to-one is proved correct for every collective and root of 1 to 33 ranks', () => {
  for (let ranks = 1; ranks <= 33; ranks++) {
    for (const collective of collectivesOf(ranks)) {
      expect(problemOf(reductionToOneAlgorithm().plan(collective, ranks), collective)).toBeUndefined();
    }
  }
});

it('reduction-to-one is proved correct for any choice of the rank that combines', () => {
  for (let root = 0; root < 7; root++) {
    for (const collective of collectivesOf(7)) {
      expect(problemOf(reductionToOneAlgorithm({ root }).plan(collective, 7), collective)).toBeUndefined();
    }
  }
});

it('reduction-to-one has no rounds with one rank', () => {
  for (const collective of collectivesOf(1)) expect(reductionToOneAlgorithm().plan(collective, 1).rounds).toEqual([]);
});

it('reduction-to-one combines at the chosen rank, in rank order', () => {
  const schedule = reductionToOneAlgorithm({ root: 2 }).plan(allReduce, 4);
  expect(draw(schedule)).toBe(
    ['round 0 | 0 -(0)+> 2   1 -(0)+> 2   3 -(0)+> 2', 'round 1 | 2 -(0)-> 0   2 -(0)-> 1   2 -(0)-> 3'].join('\n'),
  );
  expect(chainsOf(schedule, allReduce)).toEqual([[0, 1, 2, 3]]);
});

it('reduction-to-one uses the root of a collective that has one instead of the chosen rank', () => {
  const reduce: Collective = { kind: 'reduce', op: 'max', root: 1 };
  expect(draw(reductionToOneAlgorithm({ root: 5 }).plan(reduce, 3))).toBe('round 0 | 0 -(0)+> 1   2 -(0)+> 1');
});

it('reduction-to-one refuses a group without the chosen rank', () => {
  const algorithm = reductionToOneAlgorithm({ root: 4 });
  expect(algorithm.refuses?.(allReduce, 4)).toBe('root must be one of the 4 ranks, got 4');
  expect(() => algorithm.plan(allReduce, 4)).toThrow(ValueError);
  expect(algorithm.refuses?.(allReduce, 5)).toBeUndefined();
});

import type { Collective } from '@coll/core';
import { chainsOf, cost, draw, problemOf } from '@coll/core/schedule';
import { expect, it } from 'vitest';
import { directAlgorithm } from './direct-algorithm.js';

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

it('the direct algorithm is proved correct for every collective and root of 1 to 33 ranks', () => {
  for (let ranks = 1; ranks <= 33; ranks++) {
    for (const collective of collectivesOf(ranks)) {
      expect(problemOf(directAlgorithm().plan(collective, ranks), collective)).toBeUndefined();
    }
  }
});

it('directAlgorithm returns the same object at every call, so that its communicator can be reused', () => {
  expect(directAlgorithm()).toBe(directAlgorithm());
});

it('the direct algorithm has at most two rounds, and none for one rank', () => {
  const roundsOf = (ranks: number) =>
    collectivesOf(ranks).map((collective) => directAlgorithm().plan(collective, ranks).rounds.length);
  expect(roundsOf(1)).toEqual([0, 0, 0, 0, 0]);
  expect(roundsOf(3)).toEqual([2, 1, 1, 2, 2, 2, 2, 2, 2]);
});

it('the direct algorithm combines every chunk in rank order', () => {
  for (const collective of [
    allReduce,
    { kind: 'reduce-scatter', op: 'sum' },
    { kind: 'reduce', op: 'sum', root: 2 },
  ] as const) {
    const inOrder = [0, 1, 2, 3];
    expect(chainsOf(directAlgorithm().plan(collective, 4), collective)).toEqual([inOrder, inOrder, inOrder, inOrder]);
  }
});

it('the direct algorithm sends as few bytes per rank as a ring, over many links', () => {
  const machine = { kind: 'all-reduce', bytes: 8000, alpha: 0, beta: 1, gamma: 0 } as const;
  const { bytesPerRank, busiestLink } = cost(directAlgorithm().plan(allReduce, 8), machine);
  expect({ bytesPerRank, bytes: busiestLink?.bytes }).toEqual({ bytesPerRank: 14_000, bytes: 2000 });
});

it('the direct algorithm does not send a root its own data', () => {
  expect(draw(directAlgorithm().plan({ kind: 'broadcast', root: 1 }, 3))).toBe(
    ['round 0 | 1 -(0)-> 0   1 -(2)-> 2', 'round 1 | 0 -(0)-> 2   1 -(1)-> 0   1 -(1)-> 2   2 -(2)-> 0'].join('\n'),
  );
});

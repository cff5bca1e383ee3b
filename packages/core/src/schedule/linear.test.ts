import { describe, expect, it } from 'vitest';
import { cost } from './cost.js';
import { draw } from './draw.js';
import { linear, type Move } from './linear.js';
import { problemOf } from './verify.js';

const moves: readonly Move[] = [
  { kind: 'broadcast', root: 0 },
  { kind: 'all-gather' },
  { kind: 'gather', root: 0 },
  { kind: 'scatter', root: 0 },
  { kind: 'all-to-all' },
];

describe.each(moves)('a linear schedule for $kind', (move) => {
  it.each([1, 2, 3, 5, 8])('is correct for every root of %i ranks', (ranks) => {
    const roots = 'root' in move ? Array.from({ length: ranks }, (_, root) => root) : [undefined];
    for (const root of roots) {
      const own = root === undefined ? move : ({ ...move, root } as Move);
      expect(problemOf(linear(own, ranks), own)).toBeUndefined();
    }
  });

  it('has one round, or none for a single rank', () => {
    expect(linear(move, 4).rounds).toHaveLength(1);
    expect(linear(move, 1).rounds).toEqual([]);
  });
});

it('linear schedules of gather, scatter and all-to-all send each block directly to its receiver', () => {
  expect(draw(linear({ kind: 'gather', root: 1 }, 3))).toBe('round 0 | 0 -(0)-> 1   2 -(2)-> 1');
  expect(draw(linear({ kind: 'scatter', root: 1 }, 3))).toBe('round 0 | 1 -(0)-> 0   1 -(2)-> 2');
  expect(draw(linear({ kind: 'all-to-all' }, 2))).toBe('round 0 | 0 -(1)-> 1   1 -(2)-> 0');
});

it('linear schedules send no byte twice', () => {
  const machine = { bytes: 400, alpha: 1, beta: 0.01, gamma: 0 };
  const priceOf = (move: Move) => cost(linear(move, 4), { ...machine, kind: move.kind });
  // Of four blocks of 100 bytes, three pass the busiest port: the root's, or every rank's for all-to-all.
  expect(priceOf({ kind: 'gather', root: 0 })).toMatchObject({ rounds: 1, bytesPerRank: 100, seconds: 4 });
  expect(priceOf({ kind: 'scatter', root: 0 })).toMatchObject({ rounds: 1, bytesPerRank: 300, seconds: 4 });
  expect(priceOf({ kind: 'all-to-all' })).toMatchObject({ rounds: 1, bytesPerRank: 300, seconds: 4 });
});

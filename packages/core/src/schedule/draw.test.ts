import { expect, it } from 'vitest';
import { draw } from './draw.js';
import type { Round } from './schedule.js';

it('draw() prints one line per round, with different arrows for reduce and copy', () => {
  const rounds: Round[] = [
    [
      { from: 0, to: 1, chunk: 0, reduce: true },
      { from: 1, to: 2, chunk: 1, reduce: true },
    ],
    [{ from: 2, to: 0, chunk: 1, reduce: false }],
  ];
  expect(draw({ ranks: 3, chunks: 2, rounds })).toBe(
    ['round 0 | 0 -(0)+> 1   1 -(1)+> 2', 'round 1 | 2 -(1)-> 0'].join('\n'),
  );
});

it('draw() aligns numbers of different lengths', () => {
  const rounds: Round[] = Array.from({ length: 11 }, (_, index) => [
    { from: index, to: 0, chunk: index * 11, reduce: true },
  ]);
  const lines = draw({ ranks: 12, chunks: 200, rounds }).split('\n');
  expect(lines[1]).toBe('round  1 |  1 -( 11)+>  0');
  expect(lines[10]).toBe('round 10 | 10 -(110)+>  0');
});

it("draw() prints 'nothing moves' for a schedule without rounds", () => {
  expect(draw({ ranks: 1, chunks: 1, rounds: [] })).toBe('nothing moves');
  expect(draw({ ranks: 2, chunks: 1, rounds: [[]] })).toBe('round 0 |');
});

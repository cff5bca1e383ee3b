import { expect, it } from 'vitest';
import { initial, type State } from './state.ts';
import { type View, viewOf } from './view.ts';

const viewWith = (part: Partial<State>) => viewOf({ ...initial, ...part }) as View;

it('a view shows the last executed round', () => {
  const view = viewWith({ algorithm: 'reduction-to-one', ranks: 3, step: 1 });
  expect(view).toMatchObject({ rounds: 2, step: 1, title: 'Round 0 (1 of 2)' });
  expect(view.picture.arrows.map(({ from, to, reduce }) => ({ from, to, reduce }))).toEqual([
    { from: 1, to: 0, reduce: true },
    { from: 2, to: 0, reduce: true },
  ]);
  expect(view.moves.length).toBe(2);
  expect(view.rows.map(({ cells }) => cells.map(({ held }) => held))).toEqual([['0–2', '1', '2']]);
});

it('the start has ranks without arrows', () => {
  const view = viewWith({ step: 0 });
  expect(view).toMatchObject({ title: 'Start, before 6 rounds', moves: [], picture: { arrows: [] } });
  expect(view.picture.columns.length).toBe(4);
  expect(view.picture.height).toBe(viewWith({ step: 1 }).picture.height);
});

it.each([
  [99, 6],
  [-1, 0],
  [Number.NaN, 0],
])('step %d becomes %d of 6 rounds', (step, expected) => {
  expect(viewWith({ step }).step).toBe(expected);
});

it('a view has the verifier’s proof', () => {
  expect(viewWith({}).proof).toEqual({
    isProved: true,
    text: 'Proved for all-reduce sum with 4 ranks, 24 transfers in 6 rounds. The schedule is correct for every input and every timing of the transfers within a round, and no transfer is redundant.',
  });
});

it('without a transfer the verifier reports the problem', () => {
  const view = viewWith({ algorithm: 'reduction-to-one', without: '0.0' });
  expect(view.proof).toEqual({
    isProved: false,
    text: 'Not a correct schedule for all-reduce sum with 4 ranks: after the last round chunk 0 at rank 0 lacks the contribution of rank 1.',
  });
  expect(view.picture.arrows.length).toBe(2);
  expect(view.moves.map(({ isSent }) => isSent)).toEqual([false, true, true]);
});

it('a state without a schedule gives the reason', () => {
  expect(viewOf({ ...initial, ranks: 17 })).toBe('ranks must be a whole number from 1 to 16, got 17');
});

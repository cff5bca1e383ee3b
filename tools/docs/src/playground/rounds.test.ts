import type { Schedule } from '@coll/core/schedule';
import { expect, it } from 'vitest';
import { holdingsAfter, movesOf, type Row, removedOf, toggled, withoutRemoved } from './rounds.ts';

const add = (from: number, to: number, chunk = 0) => ({ from, to, chunk, reduce: true });
const copy = (from: number, to: number, chunk = 0) => ({ from, to, chunk, reduce: false });

const star: Schedule = { ranks: 4, chunks: 1, rounds: [[add(1, 0), add(3, 0)], [add(2, 0)], [copy(0, 3)]] };
const reduce = { kind: 'reduce', op: 'sum', root: 0 } as const;
const nothing = removedOf('');

const heldIn = (rows: readonly Row[]) => rows.map(({ cells }) => cells.map(({ held }) => held));

it('before the first round every rank holds its own contribution', () => {
  expect(heldIn(holdingsAfter(star, reduce, 0))).toEqual([['0', '1', '2', '3']]);
});

it('after a round a rank holds the contributions that it has combined', () => {
  expect(heldIn(holdingsAfter(star, reduce, 1))).toEqual([['0, 1, 3', '1', '2', '3']]);
  expect(heldIn(holdingsAfter(star, reduce, 2))).toEqual([['0–3', '1', '2', '3']]);
});

it('only what the last round wrote is marked as written', () => {
  const written = (steps: number) => holdingsAfter(star, reduce, steps)[0]?.cells.map(({ isWritten }) => isWritten);
  expect(written(0)).toEqual([false, false, false, false]);
  expect(written(2)).toEqual([true, false, false, false]);
  expect(written(3)).toEqual([false, false, false, true]);
});

it('a complete chunk is a result only at ranks that the collective gives it to', () => {
  const results = holdingsAfter(star, reduce, 3)[0]?.cells.map(({ isResult }) => isResult);
  expect(results).toEqual([true, false, false, false]);
});

it('ranks without a contribution hold nothing', () => {
  const schedule = { ranks: 2, chunks: 4, rounds: [[copy(0, 1, 1)]] };
  expect(holdingsAfter(schedule, { kind: 'all-to-all' }, 1)).toMatchObject([
    { title: 'chunk 0, from 0 to 0', cells: [{ held: '0', isResult: true }, { held: '' }] },
    {
      title: 'chunk 1, from 0 to 1',
      cells: [
        { held: '0', isResult: false },
        { held: '0', isResult: true },
      ],
    },
    { title: 'chunk 2, from 1 to 0', cells: [{ held: '', isResult: false }, { held: '1' }] },
    { title: 'chunk 3, from 1 to 1', cells: [{ held: '' }, { held: '1', isResult: true }] },
  ]);
});

it('chunks of blocks are titled by the rank of the block', () => {
  const titles = holdingsAfter({ ranks: 2, chunks: 4, rounds: [] }, { kind: 'all-gather' }, 0).map(
    ({ title }) => title,
  );
  expect(titles).toEqual([0, 0, 1, 1].map((rank, chunk) => `chunk ${chunk}, block of rank ${rank}`));
});

it('the transfers of a round are described in words', () => {
  expect(movesOf(star, 1, nothing)).toEqual([
    { id: '1.0', text: 'rank 2 sends chunk 0 to rank 0, which combines it with its own', isSent: true },
  ]);
  expect(movesOf(star, 2, nothing)[0]?.text).toBe('rank 0 sends chunk 0 to rank 3, which stores it');
  expect(movesOf(star, -1, nothing)).toEqual([]);
});

it('a removed transfer stays in the list and moves nothing', () => {
  const removed = removedOf('0.1');
  expect(movesOf(star, 0, removed).map(({ isSent }) => isSent)).toEqual([true, false]);
  expect(heldIn(holdingsAfter(withoutRemoved(star, removed), reduce, 1))).toEqual([['0, 1', '1', '2', '3']]);
});

it('removing a transfer twice puts it back', () => {
  expect(toggled(removedOf('0.1'), '2.0')).toBe('0.1,2.0');
  expect(toggled(removedOf('0.1,2.0'), '0.1')).toBe('2.0');
});

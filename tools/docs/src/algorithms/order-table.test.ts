import type { Algorithm, Schedule } from '@coll/core/schedule';
import { expect, it } from 'vitest';
import { orderTable } from './order-table.ts';

const add = (from: number, to: number) => ({ from, to, chunk: 0, reduce: true });
const copy = (from: number, to: number) => ({ from, to, chunk: 0, reduce: false });

const algorithmOf = (rounds: Schedule['rounds']): Algorithm => ({
  name: 'some',
  refuses: ({ kind }) => (kind === 'all-reduce' ? undefined : 'only that'),
  plan: (_, ranks) => ({ ranks, chunks: 1, rounds }),
});

it('the order table states in which order a chunk is added, and at which rank the sum is complete', () => {
  const tree = algorithmOf([[add(1, 0), add(2, 3)], [add(0, 3)], [copy(3, 0)], [copy(0, 1), copy(3, 2)]]);
  expect(orderTable(tree, 4)).toBe(
    ['| chunk | all-reduce |', '| --- | --- |', '| 0 | `(0 + 1) + (2 + 3)`, at rank 3 |'].join('\n'),
  );
});

it('the order table lists several orders if ranks add a chunk in different orders', () => {
  const differing = algorithmOf([
    [add(1, 0)],
    [copy(0, 1)],
    [add(2, 0), add(3, 1)],
    [add(3, 0), add(2, 1)],
    [copy(0, 2), copy(1, 3)],
  ]);
  expect(orderTable(differing, 4)).toContain('`0 + 1 + 2 + 3` or `0 + 1 + 3 + 2`');
});

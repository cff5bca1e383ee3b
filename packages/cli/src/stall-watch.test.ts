import type { Stall } from '@coll/rendezvous';
import { expect, it } from 'vitest';
import { textOf } from './stall-watch.js';

const stall = (missing: readonly number[], seconds = 60) => ({
  operation: 'all-reduce sum',
  sequence: 17,
  missing,
  seconds,
});

it('a stall report groups ranks that wait in the same call and names the ranks that have exited', () => {
  const stalls = new Map<number, Stall>([
    [1, stall([2, 3, 4], 61.2)],
    [0, stall([2, 3, 4])],
    [5, { operation: 'opening a group', missing: [], seconds: 70 }],
  ]);
  expect(textOf(stalls, [3])).toBe(
    'stalled: ranks 0, 1 in all-reduce sum (collective 17) for 61 seconds, ranks 2, 4 have not arrived, rank 3 has ended with exit code 0; ' +
      'rank 5 in opening a group for 70 seconds, rank 3 has ended with exit code 0',
  );
});

it('a stall report names the ranks that have exited if the waiting rank does not know which ranks are missing', () => {
  const stalls = new Map<number, Stall>([[0, { operation: 'opening a group', missing: [], seconds: 7.2 }]]);
  const told = 'stalled: rank 0 in opening a group for 7 seconds';
  expect(textOf(stalls, [])).toBe(told);
  expect(textOf(stalls, [1, 2])).toBe(`${told}, ranks 1, 2 have ended with exit code 0`);
});

it('a stall report says when no rank waits any more', () => {
  expect(textOf(new Map(), [])).toBe('no longer stalled: all ranks have resumed');
});

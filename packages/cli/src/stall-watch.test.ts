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
      'rank 5 in opening a group for 70 seconds',
  );
});

it('a stall report names no rank that has exited if the waiting rank does not know which ranks are missing', () => {
  const stalls = new Map<number, Stall>([[0, { operation: 'barrier', missing: [], seconds: 7.2 }]]);
  expect(textOf(stalls, [1, 2])).toBe('stalled: rank 0 in barrier for 7 seconds');
});

it('a rank that waits for a message is reported only if the sender waits as well or has ended', () => {
  const receive = (from: number): Stall => ({ operation: `receive from rank ${from}`, missing: [from], seconds: 9 });
  expect(textOf(new Map([[0, receive(1)]]), [2])).toBeUndefined();
  expect(textOf(new Map([[0, receive(1)]]), [1])).toBe(
    'stalled: rank 0 in receive from rank 1 for 9 seconds, rank 1 has ended with exit code 0',
  );
  const both = [
    [0, receive(1)],
    [1, receive(0)],
  ] as const;
  expect(textOf(new Map(both), [])).toBe(
    'stalled: rank 0 in receive from rank 1 for 9 seconds, rank 1 has not arrived; rank 1 in receive from rank 0 for 9 seconds, rank 0 has not arrived',
  );
});

it('there is no stall report if no rank waits', () => {
  expect(textOf(new Map(), [1])).toBeUndefined();
});

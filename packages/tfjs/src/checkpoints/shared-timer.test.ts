import type { ReplicaContext } from '@coll/strategy';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SharedTimer } from './shared-timer.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Timers of two replicas, the second of which gets what the first one has sent. */
function timers(seconds: number) {
  let sent: unknown;
  let questions = 0;
  const contextOf = (replicaIdInSyncGroup: number) => ({
    replicaIdInSyncGroup,
    broadcast: async (value: unknown) => {
      if (replicaIdInSyncGroup === 0) {
        sent = value;
        questions += 1;
      }
      return { data: sent };
    },
  });
  const [first, second] = [0, 1].map((id) => new SharedTimer(seconds, contextOf(id) as unknown as ReplicaContext));
  return { first, second, questions: () => questions } as {
    first: SharedTimer;
    second: SharedTimer;
    questions: () => number;
  };
}

describe('a shared timer', () => {
  it.each([0.001, 0.06, 7])('is over in the same step on all replicas, if a step takes %d seconds', async (step) => {
    const { first, second, questions } = timers(10);
    const over: number[] = [];
    for (let at = 1; over.length < 3; at++) {
      vi.advanceTimersByTime(1000 * step);
      const isOver = await first.isOver();
      // The other clock is slow.
      expect(await second.isOver()).toBe(isOver);
      if (!isOver) continue;
      over.push(at);
      first.restart();
      second.restart();
    }
    const steps = Math.ceil(10 / step);
    expect(over).toEqual([steps, 2 * steps, 3 * steps]);
    expect(questions()).toBeLessThan(3 * (Math.log2(steps) + 4));
  });

  it('is late by no more than it has run if steps become slower', async () => {
    const { first } = timers(10);
    for (let at = 0; at < 100; at++) {
      vi.advanceTimersByTime(10);
      expect(await first.isOver()).toBe(false);
    }
    let isOver = false;
    let steps = 0;
    for (; !isOver; steps++) {
      vi.advanceTimersByTime(1000);
      isOver = await first.isOver();
    }
    expect(steps).toBeLessThanOrEqual(100);
  });
});

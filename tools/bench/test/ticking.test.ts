import { expect, it, vi } from 'vitest';
import { Ticking, worstOf } from '../src/ticking.js';

it('a ticking timer is due every millisecond, and late if the thread blocks its event loop', () => {
  vi.useFakeTimers();
  try {
    const ticking = new Ticking();
    vi.advanceTimersByTime(90);
    expect(ticking.end()).toEqual({ count: 90, onTimeShare: 1, worstMillis: 0 });
    const blocked = new Ticking();
    vi.advanceTimersByTime(80);
    // Time passes without any timer: 20 are due, and those of the last 6 milliseconds are at most 5 ms late.
    const now = performance.now();
    vi.spyOn(performance, 'now').mockReturnValue(now + 20);
    expect(blocked.end()).toEqual({ count: 100, onTimeShare: 0.86, worstMillis: 19 });
  } finally {
    vi.restoreAllMocks();
    vi.useRealTimers();
  }
});

it('the timer figures of several threads or rounds are combined to the worst', () => {
  const some = { count: 10, onTimeShare: 0.9, worstMillis: 7 };
  const others = { count: 20, onTimeShare: 1, worstMillis: 9 };
  expect(worstOf([some, others])).toEqual({ count: 30, onTimeShare: 0.9, worstMillis: 9 });
  expect(worstOf([])).toBeUndefined();
});

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { afterSeconds, longestTimer } from './timer.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a timer calls back once after the given seconds', () => {
  const act = vi.fn();
  afterSeconds(1.5, act);
  vi.advanceTimersByTime(1499);
  expect(act).not.toHaveBeenCalled();
  vi.advanceTimersByTime(10_000);
  expect(act).toHaveBeenCalledOnce();
});

it('a timer that is longer than setTimeout allows does not call back early', () => {
  const act = vi.fn();
  afterSeconds(1e9, act);
  vi.advanceTimersByTime(longestTimer - 1);
  expect(act).not.toHaveBeenCalled();
});

it.each([null, undefined, 0, -1, -Infinity])('a timer never calls back after %s', (seconds) => {
  const act = vi.fn();
  afterSeconds(seconds, act)();
  vi.advanceTimersByTime(longestTimer);
  expect(act).not.toHaveBeenCalled();
});

it('a timer can be cancelled', () => {
  const act = vi.fn();
  afterSeconds(1, act)();
  vi.advanceTimersByTime(2000);
  expect(act).not.toHaveBeenCalled();
});

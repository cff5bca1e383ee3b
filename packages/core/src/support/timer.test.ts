import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { afterSeconds, longestTimer } from './timer.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('calls back after so many seconds, once', () => {
  const act = vi.fn();
  afterSeconds(1.5, act);
  vi.advanceTimersByTime(1499);
  expect(act).not.toHaveBeenCalled();
  vi.advanceTimersByTime(10_000);
  expect(act).toHaveBeenCalledOnce();
});

it('does not take a very long time for a short one', () => {
  const act = vi.fn();
  afterSeconds(1e9, act);
  vi.advanceTimersByTime(longestTimer - 1);
  expect(act).not.toHaveBeenCalled();
});

it.each([null, undefined, 0, -1, -Infinity])('never calls back after %s', (seconds) => {
  const act = vi.fn();
  afterSeconds(seconds, act)();
  vi.advanceTimersByTime(longestTimer);
  expect(act).not.toHaveBeenCalled();
});

it('can be ended', () => {
  const act = vi.fn();
  afterSeconds(1, act)();
  vi.advanceTimersByTime(2000);
  expect(act).not.toHaveBeenCalled();
});

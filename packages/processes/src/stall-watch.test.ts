import type { Stall } from '@coll/core/internal';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type FirstCall, StallWatch } from './stall-watch.js';

let first: FirstCall | undefined;
let reports: (Stall | undefined)[];
let watch: StallWatch;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  first = undefined;
  reports = [];
  watch = watchOf(false);
});

afterEach(() => {
  vi.useRealTimers();
});

function watchOf(repeats: boolean): StallWatch {
  const listener = { seconds: 10, repeats, tell: (_: object, stall: Stall | undefined) => reports.push(stall) };
  return new StallWatch(listener, { first: () => first, missing: () => ({ missing: [2, 3] }), hasFailed: () => false });
}

function begin(call: FirstCall | undefined): void {
  first = call;
  watch.look();
}

// The watch looks every 2.5 seconds, and measures from the first look that finds the call.
const stall = (sequence: number, seconds = 10) => ({ operation: 'all-reduce', sequence, missing: [2, 3], seconds });

it('the stall watch reports a long call once, and then reports when the call has ended', () => {
  begin({ number: 4, operation: 'all-reduce' });
  vi.advanceTimersByTime(12_499);
  expect(reports).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(reports).toEqual([stall(4)]);
  vi.advanceTimersByTime(60_000);
  expect(reports).toHaveLength(1);
  begin(undefined);
  expect(reports).toEqual([stall(4), undefined]);
  expect(vi.getTimerCount()).toBe(0);
});

it('the stall watch reports a call again after each doubling of the time if its listener repeats', () => {
  watch = watchOf(true);
  begin({ number: 4, operation: 'all-reduce' });
  vi.advanceTimersByTime(85_000);
  expect(reports).toEqual([stall(4, 10), stall(4, 20), stall(4, 40), stall(4, 80)]);
  begin({ number: 5, operation: 'all-reduce' });
  expect(reports.at(-1)).toBeUndefined();
  vi.advanceTimersByTime(10_000);
  expect(reports.at(-1)).toEqual(stall(5));
});

it('the stall watch measures each call from its own start', () => {
  begin({ number: 0, operation: 'all-reduce' });
  vi.advanceTimersByTime(6_000);
  begin({ number: 1, operation: 'all-reduce' });
  vi.advanceTimersByTime(11_000);
  expect(reports).toEqual([]);
  vi.advanceTimersByTime(3_000);
  expect(reports).toEqual([stall(1)]);
  begin({ number: 2, operation: 'all-reduce' });
  expect(reports).toEqual([stall(1), undefined]);
  expect(vi.getTimerCount()).toBe(1);
});

it('the stall watch reports nothing for calls that end in time', () => {
  begin({ number: 0, operation: 'all-reduce' });
  vi.advanceTimersByTime(6_000);
  begin(undefined);
  vi.advanceTimersByTime(60_000);
  expect(vi.getTimerCount()).toBe(0);
  begin({ number: 1, operation: 'all-reduce' });
  vi.advanceTimersByTime(10_000);
  expect(reports).toEqual([]);
});

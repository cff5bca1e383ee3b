import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type FirstCall, type Stall, StallWatch } from './stall-watch.js';

let first: FirstCall | undefined;
let told: (Stall | undefined)[];
let watch: StallWatch;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  first = undefined;
  told = [];
  watch = new StallWatch(
    { seconds: 10, tell: (stall) => told.push(stall) },
    () => first,
    () => [2, 3],
  );
});

afterEach(() => {
  vi.useRealTimers();
});

function begin(call: FirstCall | undefined): void {
  first = call;
  watch.look();
}

const stall = (sequence: number, seconds = 10) => ({ operation: 'all-reduce', sequence, missing: [2, 3], seconds });

it('the stall watch reports a long call once, and then reports when the call has ended', () => {
  begin({ number: 4, operation: 'all-reduce' });
  vi.advanceTimersByTime(9_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual([stall(4)]);
  vi.advanceTimersByTime(60_000);
  expect(told).toHaveLength(1);
  begin(undefined);
  expect(told).toEqual([stall(4), undefined]);
  expect(vi.getTimerCount()).toBe(0);
});

it('the stall watch measures each call from its own start', () => {
  begin({ number: 0, operation: 'all-reduce' });
  vi.advanceTimersByTime(6_000);
  begin({ number: 1, operation: 'all-reduce' });
  vi.advanceTimersByTime(9_000);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(5_000);
  expect(told).toEqual([stall(1, 14)]);
  begin({ number: 2, operation: 'all-reduce' });
  expect(told).toEqual([stall(1, 14), undefined]);
  expect(vi.getTimerCount()).toBe(1);
});

it('the stall watch reports nothing for calls that end in time', () => {
  begin({ number: 0, operation: 'all-reduce' });
  vi.advanceTimersByTime(6_000);
  watch.look();
  expect(vi.getTimerCount()).toBe(1);
  begin(undefined);
  vi.advanceTimersByTime(60_000);
  begin({ number: 1, operation: 'all-reduce' });
  vi.advanceTimersByTime(5_000);
  expect(told).toEqual([]);
});

it('the stall watch reports nothing if the call has ended before it is checked', () => {
  begin({ number: 0, operation: 'all-reduce' });
  first = undefined;
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual([]);
});

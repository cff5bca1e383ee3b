import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { rankList, StallReporter, stallText } from './stalls.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('a reporter that repeats reports a call after each doubling, and whether the call has resumed', () => {
  const reports: unknown[] = [];
  const reporter = new StallReporter({
    seconds: 1,
    repeats: true,
    tell: (_, stall, hasResumed) => reports.push(stall?.seconds ?? hasResumed),
  });
  const call = { key: 'a', since: performance.now(), describe: () => ({ operation: 'send', missing: [] }) };
  for (let second = 0; second < 9; second++) {
    reporter.check(call);
    vi.advanceTimersByTime(1000);
  }
  expect(reports).toEqual([1, 2, 4, 8]);
  expect(reporter.isReported).toBe(true);
  reporter.check(undefined, false);
  reporter.check(undefined);
  expect(reports.slice(4)).toEqual([false]);
  expect(reporter.isReported).toBe(false);
});

it('the text of a stall names the ranks that wait and those that have not arrived', () => {
  const stall = { operation: 'all-gather', seconds: 59.7 };
  expect(stallText({ ...stall, sequence: 3, waiting: [0, 2], missing: [1] })).toBe(
    'ranks 0, 2 in all-gather (collective 3) for 60 seconds, rank 1 has not arrived',
  );
  expect(stallText({ ...stall, waiting: [4], missing: [] })).toBe('rank 4 in all-gather for 60 seconds');
  expect(stallText({ ...stall, waiting: [4], missing: [5, 6], noun: 'replica' })).toBe(
    'replica 4 in all-gather for 60 seconds, replicas 5, 6 have not arrived',
  );
});

it('the text of a stall says what the event loops of missing ranks do, if it is known', () => {
  const stall = { operation: 'barrier', seconds: 41, waiting: [0] };
  const head = 'rank 0 in barrier for 41 seconds';
  expect(stallText({ ...stall, missing: [1], quietSeconds: [40.2] })).toBe(
    `${head}, rank 1 has not arrived; its event loop has been busy or blocked for 40 seconds`,
  );
  expect(stallText({ ...stall, missing: [1, 2], quietSeconds: [0.3, 40] })).toBe(
    `${head}, ranks 1, 2 have not arrived; the event loop of rank 2 has been busy or blocked for 40 seconds`,
  );
  expect(stallText({ ...stall, missing: [1], quietSeconds: [0.3] })).toBe(
    `${head}, rank 1 has not arrived, although its event loop turns: another call may be missing there`,
  );
});

it('a long list of ranks ends with the number of the others', () => {
  const ranks = [...Array(18).keys()];
  expect(rankList(ranks)).toBe(`ranks ${ranks.slice(0, 16).join(', ')} and 2 more`);
  expect(rankList([])).toBe('no rank');
});

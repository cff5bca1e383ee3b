import { afterEach, expect, it } from 'vitest';
import { type LogFields, setLogSink } from './logger.js';
import { CallTimes, SlowCallLog } from './slow-calls.js';

afterEach(() => setLogSink());

function timesOf(...seconds: number[]): CallTimes {
  const times = new CallTimes();
  for (const each of seconds) times.note(each);
  return times;
}

it.each([
  ['far longer than a second and the median', [0.01, 0.02, 0.01, 0.03, 0.02], 1.5, 0.02],
  ['at most a second', [0.01, 0.02, 0.01, 0.03, 0.02], 1, undefined],
  ['at most 20 times the median', [0.2, 0.2, 0.2, 0.2, 0.2], 4, undefined],
  ['after fewer than five calls', [0.01, 0.01, 0.01, 0.01], 60, undefined],
])('compares a call with the median of those before it: %s', (_, before, seconds, median) => {
  expect(timesOf(...before).note(seconds)).toBe(median);
});

it('compares with the latest 15 calls only', () => {
  const times = timesOf(...Array(15).fill(0.01), ...Array(8).fill(2));
  expect(times.note(3)).toBeUndefined();
});

it('logs the first, second, fourth and eighth slow call of a member', () => {
  const lines: [string, string, LogFields['data'], number | undefined][] = [];
  setLogSink((level, message, { data, rank }) => lines.push([level, message, data, rank]));
  const slow = new SlowCallLog(3);
  for (let call = 0; call < 9; call++) slow.add('all-reduce sum', 2.5, 0.01);
  expect(lines.map(([, , data]) => data?.['slowCalls'])).toEqual([1, 2, 4, 8]);
  expect(lines[0]).toEqual([
    'info',
    'slow call: all-reduce sum took 2.5 s, usually 10 ms',
    { operation: 'all-reduce sum', seconds: 2.5, medianSeconds: 0.01, slowCalls: 1 },
    3,
  ]);
  expect(lines[1]?.[1]).toMatch(/ \(slow call 2 of this member\)$/);
});

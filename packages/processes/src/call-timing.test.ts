import { status } from '@coll/native/addon';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CallTiming, isBusy, leavingMillis } from './call-timing.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const pass = (millis: number) => vi.advanceTimersByTime(millis);

it('the estimated cost of handing a call to another thread includes waking the thread and copying bytes', () => {
  expect(leavingMillis(0)).toBe(0.1);
  expect(leavingMillis(8e6)).toBeCloseTo(1.1);
});

it.each([
  [4, 0, false],
  [4.1, 0, true],
  // Moving this call would take 2.1 ms.
  [6.2, 16e6, false],
  [6.4, 16e6, true],
])(
  'a program that blocks its event loop for %s ms, with %s bytes to copy, counts as busy: %s',
  (millis, bytes, busy) => {
    expect(isBusy(millis, bytes)).toBe(busy);
  },
);

it('a call counts as delayed once other members take three times as long as handing it to another thread would', () => {
  // Moving this call would take 1.1 ms.
  const pace = new CallTiming(8e6);
  const rounds = [];
  for (let round = 0; round < 4; round++) {
    pace.leave(status.waiting);
    pass(1);
    pace.comeBack();
    rounds.push(pace.isKeptWaiting);
  }
  expect(rounds).toEqual([false, false, false, true]);
});

it('a call that is interrupted only to let the event loop run does not count as delayed', () => {
  const pace = new CallTiming(0);
  pace.leave(status.slice);
  pass(3);
  pace.comeBack();
  expect([pace.isKeptWaiting, pace.elapsedMillis]).toEqual([false, 3]);
});

it('a call counts as neglected once the program is busy for longer than the call has executed', () => {
  const pace = new CallTiming(0);
  pass(2);
  pace.leave(status.slice);
  pass(6);
  pace.comeBack();
  expect(pace.wasLate).toBe(false);
  pace.leave(status.slice);
  pass(1);
  pace.comeBack();
  expect([pace.wasLate, pace.elapsedMillis]).toEqual([true, 9]);
});

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { processCallDouble } from '../test/process-call-double.js';
import { CallTiming } from './call-timing.js';
import { PendingCall } from './pending-call.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

function pendingCall(millis: number, signal?: AbortSignal, abort = () => {}): PendingCall {
  return new PendingCall({ call: processCallDouble('call'), number: 0, millis, signal, abort });
}

it('a pending call has its full timeout left before it starts, and is overdue once the timeout has passed', () => {
  const pending = pendingCall(10);
  vi.advanceTimersByTime(20);
  expect(pending.millisLeft).toBe(10);
  pending.pace = new CallTiming(0);
  vi.advanceTimersByTime(4);
  expect([pending.millisLeft, pending.isLate]).toEqual([6, false]);
  vi.advanceTimersByTime(6);
  expect(pending.isLate).toBe(true);
  expect(pending.millisLeft).toBeGreaterThan(0);
});

it('a pending call without a timeout is never overdue', () => {
  const pending = pendingCall(0);
  pending.pace = new CallTiming(0);
  vi.advanceTimersByTime(1e6);
  expect([pending.millisLeft, pending.isLate]).toEqual([0, false]);
});

it.each(['resolve', 'reject'] as const)('a pending call ignores its signal once it is settled by %s', async (end) => {
  const controller = new AbortController();
  const abort = vi.fn();
  const pending = pendingCall(0, controller.signal, abort);
  pending[end](new Error('over'));
  await pending.ended.catch(() => {});
  controller.abort();
  expect(abort).not.toHaveBeenCalled();
});

it('a pending call calls its abort function when its signal is aborted', () => {
  const controller = new AbortController();
  const abort = vi.fn();
  pendingCall(0, controller.signal, abort);
  controller.abort();
  expect(abort).toHaveBeenCalledOnce();
});

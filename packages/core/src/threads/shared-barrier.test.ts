import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rejection, thrown } from '../../test/thrown.js';
import { type Failure, type FailureReason, keptFailure } from '../collectives/failures.js';
import type { CollError } from '../support/errors.js';
import { SharedBarrier, type Wait } from './shared-barrier.js';

/** Views of one group, one a rank, as threads would have them. */
function views(size: number, spins = 0): SharedBarrier[] {
  const control = new SharedArrayBuffer(SharedBarrier.bytesFor(size));
  return Array.from({ length: size }, () => new SharedBarrier(control, size, spins));
}

const broken: Failure = { reason: 'failed', rank: 0, ranks: [], text: 'broke' };

const waitOf = (rank: number, deadline?: number): Wait => ({ rank, operation: 'all-reduce sum', deadline });

/** Both ways to wait; one blocks. */
const waits = {
  wait: (view: SharedBarrier, count: number, wait: Wait) => view.wait(count, wait),
  waitSync: async (view: SharedBarrier, count: number, wait: Wait) => view.waitSync(count, wait),
};

it('a barrier counts the arrivals of each rank, and every rank can read the counts', () => {
  const [first, second, third] = views(3) as [SharedBarrier, SharedBarrier, SharedBarrier];
  expect([first.advance(0), first.advance(0), second.advance(1)]).toEqual([1, 2, 1]);
  expect([0, 1, 2].map((rank) => third.count(rank))).toEqual([2, 1, 0]);
});

describe.each(Object.entries(waits))('the method %s of a barrier', (_, wait) => {
  it.each([0, 10])('returns once all ranks have reached a count, after %i polls', async (spins) => {
    const [first, second] = views(2, spins) as [SharedBarrier, SharedBarrier];
    first.advance(0);
    second.advance(1);
    second.advance(1);
    await wait(first, 1, waitOf(0));
    await wait(first, 0, waitOf(0));
    expect(first.failure('x')).toBeUndefined();
  });

  it('times out at the deadline, and names the missing and the waiting ranks', async () => {
    const [first, , third] = views(3) as [SharedBarrier, SharedBarrier, SharedBarrier];
    first.advance(0);
    const error = await rejection(wait(first, 1, waitOf(0, Date.now() + 5)));
    expect(error).toMatchObject({
      name: 'DeadlineExceededError',
      code: 'ERR_COLL_DEADLINE',
      rank: 0,
      operation: 'all-reduce sum',
      message: 'all-reduce sum: timed out on rank 0 waiting for other workers: rank 1, 2 did not arrive',
    });
    // Who comes later learns of it, too.
    third.advance(2);
    expect(await rejection(wait(third, 1, waitOf(2)))).toMatchObject({ code: 'ERR_COLL_DEADLINE', rank: 0 });
  });

  it('returns if all ranks have arrived, even if the deadline has already passed', async () => {
    const [first] = views(1) as [SharedBarrier];
    first.advance(0);
    await wait(first, 1, waitOf(0, Date.now() - 1));
    expect(first.failure('x')).toBeUndefined();
  });

  it('works when the 32-bit counts of arrivals wrap around', async () => {
    const control = new SharedArrayBuffer(SharedBarrier.bytesFor(1));
    const words = new Int32Array(control);
    const view = new SharedBarrier(control, 1, 0);
    view.advance(0);
    words[words.indexOf(1)] = 2 ** 31 - 1;
    const next = view.advance(0);
    expect(next).toBe(-(2 ** 31));
    await wait(view, next, waitOf(0));
    await wait(view, 2 ** 31 - 1, waitOf(0));
    const error = await rejection(wait(view, next + 1, waitOf(0, Date.now() - 1)));
    expect(error).toMatchObject({ code: 'ERR_COLL_DEADLINE' });
  });
});

/** Has sleeping ranks sleep until somebody wakes them, so that a test ends only if somebody does. */
function sleepWithoutLimit(): void {
  const { waitAsync } = Atomics;
  vi.spyOn(Atomics, 'waitAsync').mockImplementation((...args: unknown[]) =>
    waitAsync(...(args.slice(0, 3) as [Int32Array, number, number])),
  );
}

describe('a sleeping rank', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('is woken by the last rank that arrives', async () => {
    sleepWithoutLimit();
    const [first, second] = views(2) as [SharedBarrier, SharedBarrier];
    let isThere = false;
    first.advance(0);
    const waiting = first.wait(1, waitOf(0)).then(() => {
      isThere = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isThere).toBe(false);
    second.advance(1);
    await waiting;
    expect(isThere).toBe(true);
  });

  it('is woken by a failure', async () => {
    sleepWithoutLimit();
    const [first, second] = views(2) as [SharedBarrier, SharedBarrier];
    const waiting = rejection(first.wait(1, waitOf(0)));
    second.fail({ ...broken, rank: 1 });
    expect(await waiting).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 });
  });

  it('is woken by wake() of a rank whose arrival the engine has counted itself', async () => {
    sleepWithoutLimit();
    const [first, second] = views(2) as [SharedBarrier, SharedBarrier];
    first.advance(0);
    const waiting = first.wait(1, waitOf(0));
    const arrival = second.arrivalOf(1);
    expect(Atomics.load(arrival, 1)).toBe(1);
    Atomics.store(arrival, 0, 1);
    second.wake(1);
    await waiting;
    expect(Atomics.load(arrival, 1)).toBe(0);
  });

  it('is woken in a blocked thread once, by the last rank that arrives', () => {
    const [first, second, third] = views(3) as [SharedBarrier, SharedBarrier, SharedBarrier];
    const notify = vi.spyOn(Atomics, 'notify');
    const slept = vi.spyOn(Atomics, 'wait').mockImplementation((words, index, seen) => {
      expect(Atomics.load(words as unknown as Int32Array, index)).toBe(seen);
      second.advance(1);
      expect(notify).not.toHaveBeenCalled();
      third.advance(2);
      expect(notify).toHaveBeenCalledExactlyOnceWith(words, index);
      expect(Atomics.load(words as unknown as Int32Array, index)).not.toBe(seen);
      return 'ok';
    });
    first.advance(0);
    first.waitSync(1, waitOf(0));
    expect(slept).toHaveBeenCalledOnce();
    for (const [rank, view] of [first, second, third].entries()) view.advance(rank);
    expect(notify).toHaveBeenCalledOnce();
  });

  it('is woken in a blocked thread by a failure', () => {
    const [first, second] = views(2) as [SharedBarrier, SharedBarrier];
    vi.spyOn(Atomics, 'wait').mockImplementation((words, index, seen) => {
      second.fail({ ...broken, rank: 1 });
      expect(Atomics.load(words as unknown as Int32Array, index)).not.toBe(seen);
      return 'ok';
    });
    expect(thrown(() => first.waitSync(1, waitOf(0)))).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 });
    // It no longer counts as a sleeper.
    const notify = vi.spyOn(Atomics, 'notify');
    for (const [rank, view] of [first, second].entries()) view.advance(rank);
    expect(notify).not.toHaveBeenCalled();
  });
});

describe('fail() of a barrier', () => {
  const reasons: readonly (readonly [FailureReason, string, string])[] = [
    ['failed', 'UnavailableError', 'ERR_COLL_PEER_FAILED'],
    ['deadline', 'DeadlineExceededError', 'ERR_COLL_DEADLINE'],
    ['aborted', 'AbortedError', 'ERR_COLL_ABORTED'],
    ['closed', 'RuntimeError', 'ERR_COLL_CLOSED'],
  ];

  it.each(reasons)('with the reason %s makes every rank throw a %s', (reason, name, code) => {
    const [first, second] = views(2) as [SharedBarrier, SharedBarrier];
    expect(second.failure('x')).toBeUndefined();
    first.fail({ reason, rank: 1, ranks: [], text: 'went away' });
    for (const view of [first, second]) {
      const expected = { name, code, rank: 1, operation: 'all-gather', message: 'all-gather: rank 1 went away' };
      expect(view.failure('all-gather')).toMatchObject(expected);
      expect(thrown(() => view.waitSync(1, waitOf(0)))).toMatchObject({ name, code });
    }
  });

  it('keeps the first failure', () => {
    const [first, second] = views(2) as [SharedBarrier, SharedBarrier];
    first.fail(broken);
    second.leave(1);
    expect(second.failure('x')).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 0, message: 'x: rank 0 broke' });
  });

  it.each([
    [{ ...broken, rank: 1 }, 'x: rank 1 broke; rank 2, rank 3 were lost, too'],
    [undefined, 'x: rank 3 was lost: its thread ended before it closed the group; rank 1, rank 2 were lost, too'],
  ])('names all ranks whose threads have ended: %j', (failure, message) => {
    const [first] = views(4) as [SharedBarrier];
    if (failure) first.fail(failure);
    for (const rank of failure ? [3, 2] : [3, 1, 2]) first.lose(rank);
    expect(first.failure('x')).toMatchObject({ rank: failure?.rank ?? 3, ranks: [1, 2, 3], message });
  });

  it('keeps the other ranks, the hosts and the text of the failure', () => {
    const [first] = views(1) as [SharedBarrier];
    const failure = { ...broken, rank: 3, ranks: [5, 1], hosts: ['host-d', '', 'host-b'], text: 'broke\0 on rank 0' };
    first.fail(failure);
    expect(keptFailure(first.failure('x') as CollError)).toEqual(failure);
  });

  it('keeps at most 64 ranks', () => {
    const [first] = views(100) as [SharedBarrier];
    const ranks = Array.from({ length: 99 }, (_, rank) => rank);
    first.expire(99, ranks, 'did not arrive');
    expect(keptFailure(first.failure('x') as CollError)).toMatchObject({ ranks: ranks.slice(0, 64) });
  });

  it('keeps any text, and truncates text that is longer than its memory', () => {
    const [first] = views(1) as [SharedBarrier];
    first.fail({ ...broken, text: `größer als 5 µs — ${'x'.repeat(5000)}` });
    expect(first.failure('x')?.message).toMatch(/^x: rank 0 größer als 5 µs — x{4000,4090}$/);
  });

  it('does not stop a rank if all the arrivals that it waits for have been counted', () => {
    const [first] = views(1) as [SharedBarrier];
    first.advance(0);
    first.leave(0);
    expect(() => first.waitSync(1, waitOf(0))).not.toThrow();
  });
});

describe('a rank that is never woken', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('wakes by itself, at the latest at its deadline', async () => {
    const [first] = views(2) as [SharedBarrier];
    const sleeps: unknown[] = [];
    const waitAsync = vi.spyOn(Atomics, 'waitAsync').mockImplementation((...args: unknown[]) => {
      sleeps.push(args[3]);
      vi.setSystemTime(Date.now() + Number(args[3]));
      return { async: false, value: 'timed-out' };
    });
    const error = await rejection(first.wait(1, waitOf(0, Date.now() + 250)));
    expect([sleeps, (error as Error).name]).toEqual([[100, 100, 50], 'DeadlineExceededError']);
    waitAsync.mockRestore();
  });
});

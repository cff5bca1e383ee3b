import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rejection } from '../../test/thrown.js';
import { RuntimeError } from '../support/errors.js';
import { type Joining, Rendezvous } from './rendezvous.js';

interface Spoken extends Joining {
  readonly input: string;
}

const limit = (timeoutSeconds: number | null, signal?: AbortSignal) => ({
  options: { options: { timeoutSeconds }, signal },
});

/** A rendezvous whose calls return, to each replica, its number followed by the inputs of all replicas. */
function echo(size: number) {
  const execute = vi.fn(async (calls: readonly Spoken[]) =>
    calls.map((_, index) => `${index}: ${calls.map(({ input }) => input).join('')}`),
  );
  const rendezvous = new Rendezvous(Array.from({ length: size }, (_, index) => index));
  const join = (index: number, input: string, more: Partial<Joining> = {}) =>
    rendezvous.join(index, { name: 'echo', input, ...more }, execute);
  return { perform: execute, rendezvous, join };
}

const closed = (operation: string) => new RuntimeError('ERR_COLL_CLOSED', `${operation}: closed`, { operation });

/** Waits until all pending promise callbacks have run. */
const rest = () => new Promise((resolve) => setImmediate(resolve));

describe('a rendezvous of replicas', () => {
  it('executes a call once for all replicas, with the inputs in replica order', async () => {
    const { perform: execute, join } = echo(3);
    const outcomes = [join(2, 'c'), join(0, 'a'), join(1, 'b')];
    expect(await Promise.all(outcomes)).toEqual(['2: abc', '0: abc', '1: abc']);
    expect(execute.mock.calls.map(([calls]) => calls.map(({ input }) => input))).toEqual([['a', 'b', 'c']]);
  });

  it('executes inside the call of the last replica to arrive', async () => {
    const { perform: execute, join } = echo(2);
    const first = join(0, 'a');
    await rest();
    expect(execute).not.toHaveBeenCalled();
    const second = join(1, 'b');
    expect(execute).toHaveBeenCalledOnce();
    await Promise.all([first, second]);
  });

  it('matches the n-th calls of the replicas, however far one is ahead', async () => {
    const { join } = echo(2);
    const ahead = ['a', 'b', 'c'].map((input) => join(0, input));
    const behind = ['x', 'y', 'z'].map((input) => join(1, input));
    expect(await Promise.all(ahead)).toEqual(['0: ax', '0: by', '0: cz']);
    expect(await Promise.all(behind)).toEqual(['1: ax', '1: by', '1: cz']);
  });

  it('lets calls overlap, except calls that are marked as exclusive', async () => {
    const log: string[] = [];
    const rendezvous = new Rendezvous([0]);
    const call = (name: string, isExclusive = false) =>
      rendezvous.join(0, { name, isExclusive }, async () => {
        log.push(`${name} begins`);
        await rest();
        log.push(`${name} ends`);
        return [0];
      });
    await Promise.all([call('a'), call('b'), call('c', true), call('d')]);
    const apart = ['c begins', 'c ends', 'd begins', 'd ends'];
    expect(log).toEqual(['a begins', 'b begins', 'a ends', 'b ends', ...apart]);
  });

  it('reports a failed call to all replicas, and continues with the next call', async () => {
    const failing = vi.fn().mockRejectedValueOnce(new Error('broken')).mockResolvedValueOnce(['x', 'y']);
    const rendezvous = new Rendezvous([0, 1]);
    const calls = [0, 1, 0, 1].map((index) => rendezvous.join(index, { name: 'call' }, failing));
    const settled = await Promise.allSettled(calls);
    expect(settled.map((call) => (call.status === 'fulfilled' ? call.value : call.reason.message))).toEqual([
      'broken',
      'broken',
      'x',
      'y',
    ]);
  });

  it('refuses calls of replicas that differ in name or form, and names the replica that differs', async () => {
    for (const [one, other, name, code] of [
      [{ name: 'sum' }, { name: 'max' }, 'InternalError', 'ERR_COLL_MISMATCH'],
      [{ form: '[1]' }, { form: '[2]' }, 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'],
    ] as const) {
      const { perform: execute, join } = echo(2);
      for (const error of await Promise.all([join(0, 'a', one), join(1, 'b', other)].map(rejection)))
        expect(error).toMatchObject({ name, code, rank: 1 });
      expect(execute).not.toHaveBeenCalled();
    }
  });

  it('rejects waiting and later calls once it is closed, but lets running calls finish', async () => {
    const { rendezvous, join } = echo(2);
    const underWay = [join(0, 'a'), join(1, 'b')];
    const waiting = join(0, 'c');
    rendezvous.close(closed);
    expect(await rejection(waiting)).toMatchObject({ code: 'ERR_COLL_CLOSED', operation: 'echo' });
    expect(await rejection(join(1, 'd'))).toMatchObject({ code: 'ERR_COLL_CLOSED' });
    expect(await Promise.all(underWay)).toEqual(['0: ab', '1: ab']);
  });

  it('rejects running calls when it fails', async () => {
    const rendezvous = new Rendezvous([0, 1]);
    const never = () => new Promise<never>(() => {});
    const calls = [0, 1].map((index) => rejection(rendezvous.join(index, { name: 'call' }, never)));
    rendezvous.fail(closed);
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 'ERR_COLL_CLOSED' });
  });

  it('delivers results in the order in which its owner releases them', async () => {
    const kept: ((index: number) => void)[] = [];
    const rendezvous = new Rendezvous([0, 1], { settle: (deliver) => kept.push(deliver) });
    const order: number[] = [];
    const calls = [0, 1].map((index) =>
      rendezvous.join(index, { name: 'call' }, async (calls) => calls).then(() => order.push(index)),
    );
    await rest();
    expect(order).toEqual([]);
    for (const index of [1, 0]) {
      kept[0]?.(index);
      await rest();
    }
    await Promise.all(calls);
    expect(order).toEqual([1, 0]);
  });

  it('returns the first call in which a replica waits', () => {
    const { rendezvous, join } = echo(2);
    expect(rendezvous.waitingAt(0)).toBeUndefined();
    void join(0, 'a');
    void join(0, 'b');
    expect(rendezvous.waitingAt(0)).toMatchObject({ input: 'a' });
    expect(rendezvous.waitingAt(1)).toBeUndefined();
  });
});

describe('the wait of replicas in a rendezvous', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('ends at the deadline for all calls of a replica, and names the replicas that did not arrive', async () => {
    const { join } = echo(3);
    const calls = [join(0, 'a'), join(1, 'x'), join(0, 'b', limit(1))].map(rejection);
    await vi.advanceTimersByTimeAsync(1000);
    for (const error of await Promise.all(calls))
      expect(error).toMatchObject({
        name: 'DeadlineExceededError',
        rank: 0,
        message: expect.stringContaining('timed out on replica 0 waiting for the others: replica 1, 2'),
      });
  });

  it('leaves no timer and no signal listener behind once the call is complete', async () => {
    const { join } = echo(2);
    const controller = new AbortController();
    const limited = limit(3, controller.signal);
    await Promise.all([join(0, 'a', limited), join(1, 'b', limited)]);
    expect(vi.getTimerCount()).toBe(0);
    controller.abort();
    expect(await Promise.all([join(0, 'a'), join(1, 'b')])).toEqual(['0: ab', '1: ab']);
  });
});

import { AbortedError, type CollError, DeadlineExceededError } from '@coll/core';
import { describe, expect, it, vi } from 'vitest';
import { abortedError, awaitAllOpened } from './all-opened.js';
import { memberOf } from './member-config.js';
import type { NativeProcessGroup } from './process-group.js';

const jobKey = 'tests-only-4kQz9XvB7mLwR2';

/**
 * A test double of a group. `unopened` lists, per poll, the ranks that have not opened it; the last
 * list repeats.
 */
function groupOf(unopened: number[][], failure?: CollError) {
  const calls: string[] = [];
  return {
    calls,
    tellOpened: () => calls.push('opened'),
    get unopened() {
      return unopened.length > 1 ? unopened.shift() : unopened[0];
    },
    failure: () => failure,
    fail: (reason: string, text: string, ranks = []) => {
      calls.push(`${reason} ${ranks}: ${text}`);
      failure ??= new DeadlineExceededError('ERR_COLL_DEADLINE', 'too late');
    },
  } as unknown as NativeProcessGroup & { readonly calls: readonly string[] };
}

const memberWith = (signal?: AbortSignal) => memberOf({ rank: 1, size: 3, jobKey, timeoutSeconds: 7, signal });

describe('awaitAllOpened', () => {
  it.each([undefined, 60])(
    'announces that this member has arrived, and waits for the others within %s seconds',
    async (seconds) => {
      const group = groupOf([[0, 2], [2], []]);
      await awaitAllOpened(group, memberWith(), seconds);
      expect(group.calls).toEqual(['opened']);
    },
  );

  it('throws the failure of the group', async () => {
    const failure = new AbortedError('ERR_COLL_ABORTED', 'rank 2 was aborted');
    const group = groupOf([[2]], failure);
    await expect(awaitAllOpened(group, memberWith(), 60)).rejects.toBe(failure);
    expect(group.calls).toEqual(['opened']);
  });

  it('names late members, and reports them to the other members', async () => {
    const group = groupOf([[0, 2]]);
    await expect(awaitAllOpened(group, memberWith(), 0.01)).rejects.toThrow('too late');
    expect(group.calls).toEqual(['opened', 'deadline 0,2: did not finish opening the group']);
  });

  it('does not give up before its timeout', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const late = Array.from({ length: 3 }, () => [2]);
    const group = groupOf([...late, []]);
    await awaitAllOpened(group, memberWith(), 0);
    expect(group.calls).toEqual(['opened']);
    vi.useRealTimers();
  });

  it('ends when its signal is aborted, and notifies the other members', async () => {
    const reason = new Error('enough');
    const group = groupOf([[2]]);
    const waiting = awaitAllOpened(group, memberWith(AbortSignal.abort(reason)), undefined);
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED', cause: reason });
    expect(group.calls).toEqual(['opened', 'aborted : was aborted while it opened the group']);
  });
});

describe('abortedError', () => {
  const details = { code: 'ERR_COLL_ABORTED', rank: 1, operation: 'open a group' };

  it('has the reason of the signal as its cause, or else the error', () => {
    const [reason, error] = [new Error('enough'), new Error('other')];
    const aborted = abortedError(memberWith(AbortSignal.abort(reason)), error);
    expect(aborted).toBeInstanceOf(AbortedError);
    expect(aborted).toMatchObject({ ...details, cause: reason });
    expect(abortedError(memberWith(), error)).toMatchObject({ ...details, cause: error });
  });
});

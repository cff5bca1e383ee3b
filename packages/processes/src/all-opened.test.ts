import { AbortedError, type CollError, DeadlineExceededError } from '@coll/core';
import { describe, expect, it, vi } from 'vitest';
import { abortedError, awaitAllOpened } from './all-opened.js';
import { memberOf } from './member-config.js';
import type { NativeProcessGroup } from './process-group.js';

const jobKey = 'a secret of many letters';

/** A double of a group in which these have not opened it, look by look; then the last ones for ever. */
function groupOf(unopened: string[][], failure?: CollError) {
  const calls: string[] = [];
  return {
    calls,
    tellOpened: () => calls.push('opened'),
    get unopened() {
      return unopened.length > 1 ? unopened.shift() : unopened[0];
    },
    failure: () => failure,
    fail: (kind: string, text: string) => calls.push(`${kind}: ${text}`),
  } as unknown as NativeProcessGroup & { readonly calls: readonly string[] };
}

const memberWith = (signal?: AbortSignal) => memberOf({ rank: 1, size: 3, jobKey, timeoutSeconds: 7, signal });

describe('awaitAllOpened', () => {
  it.each([undefined, 60])('says that this member has come, and waits for the others within %s', async (seconds) => {
    const group = groupOf([['rank 0 on a', 'rank 2 on b'], ['rank 2 on b'], []]);
    await awaitAllOpened(group, memberWith(), seconds);
    expect(group.calls).toEqual(['opened']);
  });

  it('throws why the group has failed', async () => {
    const failure = new AbortedError('ERR_COLL_ABORTED', 'rank 2 was aborted');
    const group = groupOf([['rank 2 on b']], failure);
    await expect(awaitAllOpened(group, memberWith(), 60)).rejects.toBe(failure);
    expect(group.calls).toEqual(['opened']);
  });

  it('names who is late, also to the others', async () => {
    const group = groupOf([['rank 0 on a', 'rank 2 on b']]);
    const message = 'rank 1 waited 7 seconds for the other members: rank 0 on a, rank 2 on b did not open the group';
    const waiting = awaitAllOpened(group, memberWith(), 0.01);
    await expect(waiting).rejects.toBeInstanceOf(DeadlineExceededError);
    await expect(waiting).rejects.toMatchObject({
      ...{ code: 'ERR_COLL_DEADLINE', rank: 1, operation: 'open a group', message },
    });
    expect(group.calls).toEqual(['opened', `deadline: ${message}`]);
  });

  it('waits for all of its time', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const late = Array.from({ length: 3 }, () => ['rank 2 on b']);
    const group = groupOf([...late, []]);
    await awaitAllOpened(group, memberWith(), 0);
    expect(group.calls).toEqual(['opened']);
    vi.useRealTimers();
  });

  it('ends with its signal, and tells the others', async () => {
    const reason = new Error('enough');
    const group = groupOf([['rank 2 on b']]);
    const waiting = awaitAllOpened(group, memberWith(AbortSignal.abort(reason)), undefined);
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED', cause: reason });
    expect(group.calls).toEqual(['opened', 'aborted: rank 1 was aborted while it opened a group']);
  });
});

describe('abortedError', () => {
  const details = { code: 'ERR_COLL_ABORTED', rank: 1, operation: 'open a group' };

  it('has the reason of the signal for its cause, or else the error', () => {
    const [reason, error] = [new Error('enough'), new Error('other')];
    const aborted = abortedError(memberWith(AbortSignal.abort(reason)), error);
    expect(aborted).toBeInstanceOf(AbortedError);
    expect(aborted).toMatchObject({ ...details, cause: reason });
    expect(abortedError(memberWith(), error)).toMatchObject({ ...details, cause: error });
  });
});

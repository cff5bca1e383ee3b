import { CollError, DeadlineExceededError, UnavailableError } from '@coll/core';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type SplitGroup, SplitWatch } from './split-watch.js';

let failure: CollError | undefined;
const failWith = vi.fn();
/** Rank 5 of the old group, which opens a new group with ranks 2 and 7. */
const group: SplitGroup = { rank: 5, failure: () => failure, failWith };
const watchWith = (options = {}) => new SplitWatch(group, [2, 5, 7], options);
const never = () => new Promise<never>(() => {});
const opened = { fail: vi.fn(), close: vi.fn(async () => {}) };

beforeEach(() => {
  failure = undefined;
  failWith.mockReset();
  opened.fail.mockReset();
  opened.close.mockReset();
});

describe('SplitWatch', () => {
  it('returns the new group', async () => {
    expect(await watchWith().during(async () => opened)).toBe(opened);
    expect(failWith).not.toHaveBeenCalled();
  });

  it('ends a step that never ends with the failure of the old group', async () => {
    const watch = watchWith();
    const opening = watch.during(never);
    failure = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 7 was lost', { rank: 7 });
    await expect(opening).rejects.toBe(failure);
    expect([watch.limits.signal.aborted, failWith.mock.calls]).toEqual([true, []]);
  });

  it('ignores that a member has left whom the new group does not need', async () => {
    failure = new CollError('ERR_COLL_CLOSED', 'rank 3 has left the group', { rank: 3 });
    expect(await watchWith().during(async () => opened)).toBe(opened);
    failure = new CollError('ERR_COLL_CLOSED', 'rank 7 has left the group', { rank: 7 });
    await expect(watchWith().during(never)).rejects.toBe(failure);
  });

  it('fails and closes a group that opens after the old group has failed', async () => {
    failure = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 7 was lost', { rank: 7 });
    let open: (group: typeof opened) => void = () => {};
    const late = new Promise<typeof opened>((resolve) => {
      open = resolve;
    });
    await expect(watchWith().during(() => late)).rejects.toBe(failure);
    open(opened);
    await late;
    expect(opened.fail).toHaveBeenCalledExactlyOnceWith(failure);
    expect(opened.close).toHaveBeenCalledOnce();
  });

  it('fails the old group if the signal of the call aborts', async () => {
    const over = new AbortController();
    const opening = watchWith({ signal: over.signal }).during(never);
    over.abort('enough');
    await expect(opening).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED', operation: 'split', cause: 'enough' });
    expect(failWith).toHaveBeenCalledOnce();
  });

  it('names the missing members by their ranks in the old group once the time has passed', async () => {
    const late = new DeadlineExceededError('ERR_COLL_DEADLINE', 'late', { rank: 1, ranks: [2] });
    const opening = watchWith({ timeoutSeconds: 30 }).during(() => Promise.reject(late));
    await expect(opening).rejects.toMatchObject({
      ...{ name: 'DeadlineExceededError', code: 'ERR_COLL_DEADLINE', rank: 5, ranks: [7], cause: late },
      message:
        'split: timed out on rank 5 waiting for other workers: rank 7 did not open the new group within 30 seconds',
    });
    expect(failWith).toHaveBeenCalledOnce();
  });

  it('names the member that serves the store if the store cannot be reached in time', async () => {
    const late = new DeadlineExceededError('ERR_COLL_DEADLINE', 'late', { operation: 'connect' });
    const opening = watchWith({ timeoutSeconds: 30 }).during(() => Promise.reject(late));
    await expect(opening).rejects.toMatchObject({ ranks: [2] });
  });

  it('gives each step the time that is left, and no limit if the call has none', () => {
    expect(watchWith().limits.timeoutSeconds).toBeNull();
    expect(watchWith({ timeoutSeconds: 0 }).limits.timeoutSeconds).toBeNull();
    expect(watchWith({ timeoutSeconds: 30 }).limits.timeoutSeconds).toBeGreaterThan(29);
  });

  it('fails the old group if the new one cannot be opened, and names the culprit by its rank in the old group', async () => {
    const broken = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 2 cannot open a group: no memory', { rank: 2 });
    await expect(watchWith().during(() => Promise.reject(broken))).rejects.toMatchObject({
      ...{ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 7, operation: 'split', cause: broken },
      message: 'split: rank 5 cannot open the new group, in which it is rank 1: rank 2 cannot open a group: no memory',
    });
    expect(failWith).toHaveBeenCalledOnce();
  });
});

import {
  AbortedError,
  InternalError,
  NotImplementedError,
  OutOfRangeError,
  type ReplicaGroup,
  RuntimeError,
  ValueError,
} from '@coll/core';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../test/deferred.js';
import { strategyOf } from '../../test/strategies.js';
import { runInReplica } from '../scope/contexts.js';
import { LocalReplicaContext } from './local-replica-context.js';
import type { ReplicaScheduler } from './replica-scheduler.js';

type Track = (call: Promise<unknown>) => Promise<unknown>;

/**
 * A replica on test doubles: a group whose calls have this outcome, except for the first `atOnce`
 * calls, which end at once, and a scheduler that records failures.
 */
function replicaOf(outcome: Promise<unknown>, canBlock: boolean, atOnce = 0) {
  let calls = 0;
  const run = (_: unknown, track: Track) => (calls++ < atOnce ? Promise.resolve() : track(outcome));
  const group = { canBlock, reduceCall: () => ({}), run } as unknown as ReplicaGroup;
  const fail = vi.fn();
  const scheduler = { fail } as unknown as ReplicaScheduler;
  const context = new LocalReplicaContext({ strategy: strategyOf(1), index: 0, group, scheduler, onReport: undefined });
  return { context, fail, reduce: () => runInReplica(context, () => context.allReduce('SUM', 1)) };
}

describe('a failed call of a replica in its own thread', () => {
  it.each([
    new RuntimeError('ERR_COLL_CLOSED', 'closed'),
    new InternalError('ERR_COLL_MISMATCH', 'other'),
    new Error('x'),
  ])('ends the run for %s', async (error) => {
    const { fail, reduce } = replicaOf(Promise.reject(error), true);
    await expect(reduce()).rejects.toBe(error);
    expect(fail.mock.calls).toEqual([[error]]);
  });

  it.each([
    new AbortedError('ERR_COLL_ABORTED', 'enough'),
    new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', 'not this'),
    new RangeError('too far'),
    new OutOfRangeError('too far'),
    new ValueError('ERR_COLL_VALUE', 'not that'),
  ])('rejects for %s but does not end the group', async (error) => {
    const { fail, reduce } = replicaOf(Promise.reject(error), true);
    await expect(reduce()).rejects.toBe(error);
    expect(fail).not.toHaveBeenCalled();
  });

  it('is reported to the scheduler of replicas that share a thread', async () => {
    const { fail, reduce } = replicaOf(Promise.reject(new Error('x')), false);
    await expect(reduce()).rejects.toThrow('x');
    expect(fail).not.toHaveBeenCalled();
  });
});

describe('settle', () => {
  it('waits for calls that are not awaited, however they end', async () => {
    const call = deferred<unknown>();
    const { context, reduce } = replicaOf(call.promise, false);
    void reduce().catch(() => {});
    let isSettled = false;
    const settled = context.settle().then(() => {
      isSettled = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isSettled).toBe(false);
    call.reject(new Error('late'));
    await settled;
  });

  it('waits for calls that follow calls that ended at once', async () => {
    const call = deferred<unknown>();
    const { context, reduce } = replicaOf(call.promise, true, 2);
    const step = async () => {
      await reduce();
    };
    const ended: string[] = [];
    void (async () => {
      for (let steps = 0; steps < 3; steps++) await step();
      ended.push('steps');
    })();
    const settled = context.settle().then(() => ended.push('settle'));
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(ended).toEqual([]);
    call.resolve(1);
    await settled;
    expect(ended).toEqual(['steps', 'settle']);
  });
});

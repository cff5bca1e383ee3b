import { getEventListeners } from 'node:events';
import { AbortedError, type CollError, DeadlineExceededError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { expectNoUnhandledRejections } from './no-unhandled-rejections.js';
import { never, strategyOf, tick } from './strategies.js';

const two = strategyOf(2);
const three = strategyOf(3);

expectNoUnhandledRejections();

describe('timeoutSeconds', () => {
  it('names the replicas that did not arrive, in the error of every replica', async () => {
    const seen: CollError[] = [];
    const failing = three.run(async (replica) => {
      if (replica.replicaIdInSyncGroup === 1) return never();
      if (replica.replicaIdInSyncGroup === 2) throw new Error('is never reached');
      return replica.allReduce('sum', 1, { timeoutSeconds: 0.02 }).catch((error: CollError) => {
        seen.push(error);
        throw error;
      });
    });
    await expect(failing).rejects.toBeInstanceOf(DeadlineExceededError);
    expect(seen).toMatchObject([
      {
        code: 'ERR_COLL_DEADLINE',
        rank: 0,
        message:
          'replica 0: all-reduce SUM: timed out on replica 0 waiting for the others: replica 1, 2 did not arrive',
      },
    ]);
  });

  it('does not affect calls that arrive in time, and 0 means no limit', async () => {
    const results = await two.run(async (replica) => {
      await replica.allReduce('sum', 1, { timeoutSeconds: 60 });
      await replica.broadcast(1, 0, { timeoutSeconds: 2 ** 40 });
      return replica.allGather(Float32Array.of(1), 0, { timeoutSeconds: 0 });
    });
    expect(two.experimentalLocalResults(results)).toHaveLength(2);
  });

  it('throws an error that can be caught, after which no more collectives are possible', async () => {
    let release = () => {};
    const stuck = new Promise<void>((resolve) => {
      release = resolve;
    });
    const codes = await two.run(async (replica) => {
      if (replica.replicaIdInSyncGroup === 1) await stuck;
      try {
        await replica.allReduce('sum', 1, { timeoutSeconds: 0.02 });
        return 'done';
      } catch (error) {
        release();
        return (error as CollError).code;
      }
    });
    expect(codes).toBe('ERR_COLL_DEADLINE');
  });
});

describe('an AbortSignal', () => {
  it('ends a run that has not started', async () => {
    const signal = AbortSignal.abort(new Error('why'));
    const failing = two.run(
      () => {
        throw new Error('is never called');
      },
      { signal },
    );
    await expect(failing).rejects.toBeInstanceOf(AbortedError);
    await expect(failing).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED', cause: signal.reason });
  });

  it.each(['in the second replica', 'in a merge call', 'in an all-reduce'])('ends a run %s', async (where) => {
    const controller = new AbortController();
    const seen: unknown[] = [];
    const failing = two.run(
      async (replica) => {
        const isLast = replica.replicaIdInSyncGroup === 1;
        if (where === 'in the second replica' && isLast) {
          controller.abort('enough');
          await never();
        }
        if (where === 'in a merge call') {
          await replica.mergeCall(() => {
            controller.abort('enough');
            return never();
          });
        }
        if (isLast) setImmediate(() => controller.abort('enough'));
        else await replica.allReduce('sum', 1).catch((error: unknown) => seen.push(error));
        await never();
      },
      { signal: controller.signal },
    );
    await expect(failing).rejects.toMatchObject({ name: 'AbortedError', message: 'run was aborted', cause: 'enough' });
    await tick();
    if (where !== 'in a merge call') expect(seen).toMatchObject([{ code: 'ERR_COLL_ABORTED' }]);
  });

  it('does not affect a run that has ended', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    expect(await two.run((replica) => replica.allReduce('sum', 1, { signal }), { signal })).toBeDefined();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    controller.abort();
  });

  it('ends a collective on all replicas', async () => {
    const controller = new AbortController();
    const failing = two.run(async (replica) => {
      if (replica.replicaIdInSyncGroup === 0) return replica.allReduce('sum', 1, { signal: controller.signal });
      setImmediate(() => controller.abort('mine'));
      await tick();
      await tick();
      return replica.allReduce('sum', 1);
    });
    await expect(failing).rejects.toMatchObject({
      name: 'AbortedError',
      cause: 'mine',
      message: 'replica 0: all-reduce SUM: replica 0 aborted: mine',
    });
  });

  it('refuses a collective if the signal is already aborted', async () => {
    const failing = two.run((replica) => replica.broadcast(1, 0, { signal: AbortSignal.abort() }));
    await expect(failing).rejects.toThrow('replica 0: broadcast from replica 0 was aborted before it began');
  });
});

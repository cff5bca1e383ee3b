import { PerReplica, UnavailableError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { expectNoUnhandledRejections } from '../../test/no-unhandled-rejections.js';
import { never, strategyOf, tick } from '../../test/strategies.js';

const two = strategyOf(2);
const three = strategyOf(3);

expectNoUnhandledRejections();

describe('an exception in a replica', () => {
  class Oops extends Error {
    readonly detail = 7;
  }

  it('ends the other replicas, and is rethrown as the same object with the replica number', async () => {
    const oops = new Oops('no more');
    const seen: unknown[] = [];
    const failing = three.run(async (replica) => {
      if (replica.replicaIdInSyncGroup === 2) throw oops;
      await replica.allReduce('sum', 1).catch((error: unknown) => {
        seen.push(error);
        throw error;
      });
    });
    await expect(failing).rejects.toBe(oops);
    expect(oops).toMatchObject({ message: 'replica 2: no more', rank: 2, detail: 7 });
    expect(oops.stack).toContain('replica 2: no more');
    await tick();
    expect(seen).toHaveLength(2);
    for (const error of seen) {
      expect(error).toBeInstanceOf(UnavailableError);
      expect(error).toMatchObject({
        code: 'ERR_COLL_PEER_FAILED',
        rank: 2,
        message: 'all-reduce SUM: another replica failed: replica 2: no more',
      });
    }
  });

  it('prevents replicas that have not started from starting', async () => {
    const called: number[] = [];
    const failing = three.run((replica) => {
      called.push(replica.replicaIdInSyncGroup);
      throw new Error('at once');
    });
    await expect(failing).rejects.toThrow('replica 0: at once');
    expect(called).toEqual([0]);
  });

  it('reaches the caller while another replica continues', async () => {
    const failing = two.run(async (replica) => {
      if (replica.replicaIdInSyncGroup === 0) {
        void replica.allReduce('sum', 1);
        await never();
      }
      throw new Error('later');
    });
    await expect(failing).rejects.toThrow('replica 1: later');
  });

  it('may be any value', async () => {
    for (const thrown of ['text', 0, null, undefined, { odd: true }]) {
      const failing = two.run(() => {
        throw thrown;
      });
      await expect(failing).rejects.toMatchObject({
        name: 'RuntimeError',
        code: 'ERR_COLL_REPLICA',
        message: `replica 0: ${String(thrown)}`,
        rank: 0,
      });
      expect(await failing.catch((error: Error) => error.cause)).toBe(thrown);
    }
  });

  it('may be a frozen object', async () => {
    const reason = AbortSignal.abort().reason as DOMException;
    const failing = two.run(() => {
      throw reason;
    });
    await expect(failing).rejects.toMatchObject({ code: 'ERR_COLL_REPLICA', cause: reason });
  });

  it('is ignored in a call that is not awaited', async () => {
    const failing = two.run(async (replica) => {
      void replica.allReduce('sum', 1);
      void replica.mergeCall(() => 0);
      throw new Error('in the middle');
    });
    await expect(failing).rejects.toThrow('replica 0: in the middle');
  });
});

describe('a call of a replica whose run has ended', () => {
  it.each([
    ['has ended', () => {}, 'ERR_COLL_CLOSED'],
    [
      'has failed',
      () => {
        throw new Error('first');
      },
      'ERR_COLL_PEER_FAILED',
    ],
  ])('is refused once the run %s', async (_, end, code) => {
    let later: Promise<unknown> = Promise.resolve();
    await two
      .run((replica) => {
        if (replica.replicaIdInSyncGroup === 0)
          later = tick()
            .then(tick)
            .then(() => replica.allReduce('sum', 1));
        end();
      })
      .catch(() => {});
    await expect(later).rejects.toMatchObject({ code });
  });
});

describe('report', () => {
  it('passes the value and its replica to onReport, outside the replica', async () => {
    const reports: unknown[] = [];
    await two.run(
      (replica) => {
        replica.report({ at: replica.replicaIdInSyncGroup });
      },
      { onReport: (replica, value) => reports.push([replica, value]) },
    );
    await two.run((replica) => replica.report('nobody listens'));
    expect(reports).toEqual([
      [0, { at: 0 }],
      [1, { at: 1 }],
    ]);
  });

  it('ends the run when onReport throws', async () => {
    const failing = two.run((replica) => replica.report(1), {
      onReport: () => {
        throw new Error('from the listener');
      },
    });
    await expect(failing).rejects.toThrow(/^from the listener$/);
  });
});

describe('arguments of a run', () => {
  it("are unwrapped to the replica's components, and otherwise passed unchanged", async () => {
    const shared = { same: true };
    const seen: unknown[] = [];
    await two.run((_, ...args: readonly unknown[]) => seen.push(args), {
      args: [new PerReplica(['a', 'b']), shared, [{ x: new PerReplica([1, 2]) }]],
    });
    expect(seen).toEqual([
      ['a', shared, [{ x: 1 }]],
      ['b', shared, [{ x: 2 }]],
    ]);
    expect((seen[0] as unknown[])[1]).toBe(shared);
  });

  it('may be named: kwargs are passed as one object after the others', async () => {
    const kwargs = { x: new PerReplica([1, 2]), y: 'same' };
    const seen = await two.run((_, z: number, named: typeof kwargs) => ({ z, ...named }), { args: [3], kwargs });
    expect(seen).toEqual({ x: new PerReplica([1, 2]), y: 'same', z: new PerReplica([3, 3]) });
    await expect(two.run(() => 0, { kwargs: [1] as never })).rejects.toThrow(/kwargs must be an object/);
  });

  it.each([5, 'text', null, { 0: 1 }])('must be a list, not %j', async (args) => {
    const failing = two.run(() => 0, { args: args as never });
    await expect(failing).rejects.toMatchObject({
      name: 'ValueError',
      message: expect.stringMatching(/must be a list/),
    });
  });
});

describe('results of a run', () => {
  it('are regrouped, and unwrapped if all replicas return the identical value', async () => {
    const shared = new Float32Array(1);
    const results = await two.run((replica) => ({
      text: 'same',
      shared,
      own: replica.replicaIdInSyncGroup,
      list: [undefined, [replica.replicaIdInSyncGroup]],
    }));
    expect(results).toEqual({
      text: 'same',
      shared,
      own: new PerReplica([0, 1]),
      list: [undefined, [new PerReplica([0, 1])]],
    });
  });

  it('are unwrapped for one replica', async () => {
    expect(await strategyOf(1).run((replica) => [replica.replicaIdInSyncGroup])).toEqual([0]);
  });

  it('of different forms are refused', async () => {
    const failing = two.run((replica) => (replica.replicaIdInSyncGroup === 0 ? [1] : [1, 2]));
    await expect(failing).rejects.toMatchObject({ name: 'AssertionError' });
  });
});

describe('run', () => {
  it.each([5, 'file:///replica.js', undefined, { href: 'x' }])(
    'requires a function or a URL, not %j',
    async (replica) => {
      await expect(two.run(replica as never)).rejects.toMatchObject({
        name: 'ValueError',
        message: expect.stringMatching(/new URL\('.\/replica.js', import.meta.url\)/),
      });
    },
  );
});

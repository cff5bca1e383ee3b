import { InternalError, PerReplica, RuntimeError, zeros } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { expectNoUnhandledRejections } from '../../test/no-unhandled-rejections.js';
import { strategyOf, tick } from '../../test/strategies.js';
import type { ReplicaContext, Strategy } from '../index.js';

const two = strategyOf(2);
const three = strategyOf(3);

expectNoUnhandledRejections();

describe('replicas of one thread', () => {
  it('take turns: each runs until it waits for the others or ends', async () => {
    const log: string[] = [];
    await three.run(async ({ replicaIdInSyncGroup: id }) => {
      log.push(`${id} begins`);
      await tick();
      log.push(`${id} has waited for itself`);
    });
    expect(log).toEqual([0, 1, 2].flatMap((id) => [`${id} begins`, `${id} has waited for itself`]));
  });

  it('continue in the same order after each joint call', async () => {
    const log: string[] = [];
    await three.run(async (replica) => {
      const say = (what: string) => log.push(`${what} ${replica.replicaIdInSyncGroup}`);
      say('begins');
      await replica.allReduce('sum', 1);
      say('first');
      await tick();
      say('second');
      await replica.mergeCall(() => log.push('merge'));
      say('third');
    });
    const each = (...whats: string[]) => [0, 1, 2].flatMap((id) => whats.map((what) => `${what} ${id}`));
    expect(log).toEqual([...each('begins'), ...each('first', 'second'), 'merge', ...each('third')]);
  });

  it('continue in this order, too, if they wait in several calls', async () => {
    const log: string[] = [];
    await three.run(async (replica) => {
      const say = (what: string) => log.push(`${what} ${replica.replicaIdInSyncGroup}`);
      const calls = ['first', 'second'].map(async (what) => {
        await replica.allReduce('sum', 1);
        say(what);
        await Promise.resolve();
        say(`after ${what}`);
      });
      await Promise.all(calls);
      say('ends');
    });
    const each = (...whats: string[]) => [0, 1, 2].flatMap((id) => whats.map((what) => `${what} ${id}`));
    expect(log).toEqual([...each('first', 'after first'), ...each('second', 'after second', 'ends')]);
  });

  it('let other code of the process run every few milliseconds', async () => {
    let isOver = false;
    let calls = 0;
    setTimeout(() => {
      isOver = true;
    }, 1);
    await two.run(async (replica) => {
      while (!(await replica.mergeCall(() => isOver))) calls += 1;
    });
    expect(calls).toBeGreaterThan(0);
  });

  it('may be synchronous functions', async () => {
    expect(await two.run((replica) => replica.numReplicasInSync)).toEqual(new PerReplica([2, 2]));
    expect(await two.run(() => {})).toBeUndefined();
  });

  it('can run in two overlapping runs, and in consecutive runs', async () => {
    const sum = async (value: number) => {
      const result = await two.run((replica, x: number) => replica.allReduce('sum', x), { args: [value] });
      return two.experimentalLocalResults(result).map((item) => (item as { data: Float64Array }).data[0]);
    };
    expect(await Promise.all([sum(1), sum(2), sum(3)])).toEqual([
      [2, 2],
      [4, 4],
      [6, 6],
    ]);
    for (let run = 0; run < 50; run++) expect(await sum(run)).toEqual([2 * run, 2 * run]);
  });
});

describe('mergeCall', () => {
  it('passes kwargs as one object after the other arguments', async () => {
    const fn = (_: Strategy, x: PerReplica, { y, z }: { y: PerReplica; z: string }) => [
      x.values.join(),
      y.values.join(),
      z,
    ];
    const merged = await two.run((replica) => {
      const { replicaIdInSyncGroup: id } = replica;
      return replica.mergeCall(fn, [id], { y: 10 - id, z: 'same' });
    });
    expect(merged).toEqual(['0,1', '10,9', 'same']);
  });

  it("runs replica 0's function once for all with regrouped arguments, and gives each replica its component", async () => {
    const calls: unknown[] = [];
    const results = await two.run((replica) => {
      const id = replica.replicaIdInSyncGroup;
      return replica.mergeCall(
        (strategy, ...args: readonly [number, string, { readonly list: readonly number[] }]) => {
          calls.push([id, strategy === two, ...args]);
          return { mine: args[0], all: 'same', sum: strategy.reduce('sum', args[0], null) };
        },
        [id, 'same', { list: [id * 10] }],
      );
    });
    expect(calls).toEqual([[0, true, new PerReplica([0, 1]), 'same', { list: [new PerReplica([0, 10])] }]]);
    expect(two.experimentalLocalResults(results)).toMatchObject([
      { mine: 0, all: 'same' },
      { mine: 1, all: 'same' },
    ]);
  });

  it('may reduce its arguments', async () => {
    const results = await two.run((replica) =>
      replica.mergeCall(
        (strategy, value) => strategy.extended.reduceTo('sum', value, ['cpu:0', 'cpu:1']),
        [Float32Array.of(replica.replicaIdInSyncGroup + 1)],
      ),
    );
    expect(two.experimentalLocalResults(results)).toMatchObject([
      { data: Float32Array.of(3) },
      { data: Float32Array.of(3) },
    ]);
  });

  it('separates concurrent calls in call order', async () => {
    const order: string[] = [];
    const results = await two.run((replica) => {
      const merge = (name: string) =>
        replica.mergeCall(
          async (_, id: unknown) => {
            await tick();
            order.push(name);
            return [name, id];
          },
          [replica.replicaIdInSyncGroup],
        );
      return Promise.all([merge('a'), replica.allReduce('sum', 1).then(() => order.push('sum')), merge('b')]);
    });
    expect(order.filter((what) => what !== 'sum')).toEqual(['a', 'b']);
    expect(two.experimentalLocalResults(results)).toMatchObject([
      [['a', 0], {}, ['b', 0]],
      [['a', 1], {}, ['b', 1]],
    ]);
  });

  it('runs also for replicas that end without awaiting it', async () => {
    let merged = 0;
    await two.run((replica) => {
      void replica.mergeCall(() => {
        merged += 1;
      });
    });
    expect(merged).toBe(1);
  });

  it('ends the run with the error that its function throws', async () => {
    const failing = two.run(async (replica) => {
      await replica
        .mergeCall(() => {
          throw new SyntaxError('in the merge');
        })
        .catch(() => {});
    });
    await expect(failing).rejects.toBeInstanceOf(SyntaxError);
    await expect(failing).rejects.toThrow(/^in the merge$/);
  });

  it('ends the run if arguments differ in form', async () => {
    const failing = two.run((replica) =>
      replica.mergeCall((_, value: unknown) => value, replica.replicaIdInSyncGroup === 0 ? [[1]] : [{ x: 1 }]),
    );
    await expect(failing).rejects.toMatchObject({ name: 'AssertionError' });
  });

  it('validates its arguments', async () => {
    const named = two.run((replica) => replica.mergeCall(() => 0, [], 5 as never));
    await expect(named).rejects.toThrow(/an object of named arguments, got function/);
    await expect(two.run((replica) => replica.mergeCall(5 as never))).rejects.toMatchObject({ name: 'ValueError' });
    await expect(two.run((replica) => replica.mergeCall(() => 0, 5 as never))).rejects.toMatchObject({
      name: 'ValueError',
    });
  });
});

describe('replicas that make different calls', () => {
  it.each([
    [0, (replica: ReplicaContext) => replica.mergeCall(() => 0), 'mergeCall'],
    [1, (replica: ReplicaContext) => replica.mergeCall(() => 0), 'mergeCall'],
    [1, (replica: ReplicaContext) => replica.allReduce('sum', 1), 'all-reduce SUM'],
  ] as const)('fail when replica %i ends early', async (leaver, wait, name) => {
    const failing = two.run(async (replica) => {
      await replica.allReduce('max', 1);
      return replica.replicaIdInSyncGroup === leaver ? 0 : wait(replica);
    });
    await expect(failing).rejects.toBeInstanceOf(RuntimeError);
    await expect(failing).rejects.toMatchObject({
      code: 'ERR_COLL_MERGE',
      rank: leaver,
      message: `replicas made different numbers of collectives: replica ${leaver} has ended after 1 while replica ${1 - leaver} waits in ${name}, collective 2 of the run; all replicas must make the same calls in the same order`,
    });
  });

  it.each<[string, (replica: ReplicaContext) => Promise<unknown>]>([
    ['ops', (replica) => replica.allReduce(replica.replicaIdInSyncGroup ? 'sum' : 'mean', 1)],
    ['calls', (replica) => (replica.replicaIdInSyncGroup ? replica.allReduce('sum', 1) : replica.mergeCall(() => 0))],
    ['roots', (replica) => replica.broadcast(1, replica.replicaIdInSyncGroup)],
    ['axes', (replica) => replica.allGather(zeros('float32', [1, 1]), replica.replicaIdInSyncGroup)],
  ])('fail when the calls differ in %s', async (_, call) => {
    const failing = two.run(call);
    await expect(failing).rejects.toBeInstanceOf(InternalError);
    await expect(failing).rejects.toMatchObject({
      code: 'ERR_COLL_MISMATCH',
      rank: 1,
      message: expect.stringMatching(
        /^replicas make different calls: replica 0 calls .*, replica 1 calls .*; all replicas must make the same calls/,
      ),
    });
  });

  it('all get the same error', async () => {
    const seen: unknown[] = [];
    const failing = three.run(async (replica) => {
      const op = replica.replicaIdInSyncGroup === 2 ? 'max' : 'min';
      await replica.allReduce(op, 1).catch((error: unknown) => seen.push(error));
    });
    await expect(failing).rejects.toMatchObject({ code: 'ERR_COLL_MISMATCH', rank: 2 });
    await tick();
    expect(seen).toMatchObject([{ rank: 2 }, { rank: 2 }, { rank: 2 }]);
  });
});

it('a run that was aborted before it began calls no replica', async () => {
  let calls = 0;
  const running = two.run(() => calls++, { signal: AbortSignal.abort('enough') });
  await expect(running).rejects.toMatchObject({ name: 'AbortedError', code: 'ERR_COLL_ABORTED', cause: 'enough' });
  expect(calls).toBe(0);
});

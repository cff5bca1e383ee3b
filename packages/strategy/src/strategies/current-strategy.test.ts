import { CollError, IndexedSlices, PerReplica, tensor } from '@coll/core';
import { afterEach, describe, expect, it } from 'vitest';
import {
  experimentalSetStrategy,
  getReplicaContext,
  getStrategy,
  hasStrategy,
  inCrossReplicaContext,
  MirroredStrategy,
  type ReplicaContext,
  variable,
} from '../index.js';

const one = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const other = new MirroredStrategy({ devices: ['cpu:0'] });
const byDefault = getStrategy();
const alone = getReplicaContext() as ReplicaContext;

afterEach(() => experimentalSetStrategy(undefined));

describe('experimentalSetStrategy', () => {
  it('sets the strategy that is current outside scopes', () => {
    experimentalSetStrategy(one);
    expect([getStrategy(), hasStrategy(), inCrossReplicaContext()]).toEqual([one, true, true]);
    experimentalSetStrategy(other);
    expect(getStrategy()).toBe(other);
    experimentalSetStrategy(null);
    expect([getStrategy(), hasStrategy(), inCrossReplicaContext()]).toEqual([byDefault, false, false]);
    experimentalSetStrategy(one);
    experimentalSetStrategy(byDefault);
    expect([hasStrategy(), inCrossReplicaContext(), getReplicaContext()]).toEqual([false, false, alone]);
    expect(() => experimentalSetStrategy({} as never)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
    expect(hasStrategy()).toBe(false);
  });

  it('behaves like a scope: only scopes of the same strategy can be nested in it', () => {
    experimentalSetStrategy(one);
    expect(one.scope(getStrategy)).toBe(one);
    expect(() => other.scope(() => {})).toThrow(/^Mixing different strategies/);
    expect(() => byDefault.scope(() => {})).toThrow(/must not be nested/);
  });

  it('is refused inside scopes and replicas', async () => {
    const set = () => experimentalSetStrategy(other);
    expect(() => one.scope(set)).toThrow(expect.objectContaining({ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT' }));
    await expect(one.run(set)).rejects.toThrow(/must not be called inside a strategy scope/);
    await expect(one.run((replica) => replica.mergeCall(set))).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_CONTEXT',
    });
    expect(hasStrategy()).toBe(false);
  });
});

describe('the default strategy', () => {
  it('has one replica, in which all code outside scopes runs', () => {
    expect(hasStrategy()).toBe(false);
    expect(inCrossReplicaContext()).toBe(false);
    expect(alone).toMatchObject({ numReplicasInSync: 1, replicaIdInSyncGroup: 0, strategy: byDefault });
    expect(byDefault.numReplicasInSync).toBe(1);
  });

  it('calls the function that is passed to run once, with its arguments', async () => {
    const calls: unknown[] = [];
    const result = await byDefault.run(
      (replica: ReplicaContext, ...args: readonly number[]) => {
        calls.push([replica, args, getStrategy()]);
        return 'done';
      },
      { args: [1, 2] },
    );
    expect(result).toBe('done');
    expect(calls).toEqual([[alone, [1, 2], byDefault]]);
    await expect(byDefault.run(() => 0, { args: 5 as never })).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    await expect(byDefault.run(new URL('file:///replica.js'))).rejects.toThrow(/default strategy has no threads/);
  });

  it('allows other strategies to be used inside run', async () => {
    const sum = await byDefault.run(async () => one.reduce('sum', new PerReplica([1, 2]), null));
    expect(sum).toMatchObject({ data: Float64Array.of(3) });
  });

  it('returns values unchanged from reduce, gather and broadcast', async () => {
    const value = new PerReplica([1, 2]);
    const { extended } = byDefault;
    expect(await byDefault.reduce('sum', value, null)).toBe(value);
    expect(await byDefault.gather(value, 0)).toBe(value);
    expect(await extended.reduceTo('mean', value, 'cpu:3')).toBe(value);
    expect(await extended.batchReduceTo('sum', [[value, 'cpu:0']])).toEqual([value]);
    await expect(extended.batchReduceTo('sum', undefined as never)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    expect(await extended.broadcastTo(value, undefined as never)).toBe(value);
    expect(byDefault.experimentalLocalResults(value)).toEqual([value]);
  });

  it('unwraps its distributed values in run, reduce, gather and experimentalLocalResults', async () => {
    const value = byDefault.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup }) =>
      tensor([replicaIdInSyncGroup + 5]),
    );
    const [component] = value.values;
    const { extended } = byDefault;
    expect(value.values).toHaveLength(1);
    expect(await byDefault.run((_, given: unknown) => given, { args: [value] })).toBe(component);
    const named = (_: ReplicaContext, given: unknown) => given;
    expect(await byDefault.run(named, { kwargs: { list: [value] } })).toEqual({ list: [component] });
    expect(await byDefault.reduce('sum', { loss: value }, null)).toEqual({ loss: component });
    expect(await byDefault.reduce('mean', value, 0)).toMatchObject({ data: Float64Array.of(5), shape: [] });
    expect(await byDefault.gather(value, 0)).toBe(component);
    expect(await extended.batchReduceTo('sum', [[value, 'cpu:0']])).toEqual([component]);
    expect(await extended.broadcastTo(value, undefined as never)).toBe(component);
    expect(byDefault.experimentalLocalResults({ x: value })).toEqual([{ x: component }]);
  });

  it('sums and averages along an axis in reduce', async () => {
    const value = { data: Float32Array.of(1, 2, 3, 4), dtype: 'float32', shape: [2, 2], device: '' } as const;
    expect(await byDefault.reduce('sum', value, 0)).toMatchObject({ data: Float32Array.of(4, 6), shape: [2] });
    expect(await byDefault.reduce('mean', value, [0, 1])).toMatchObject({ data: Float32Array.of(2.5), shape: [] });
  });

  it('reports which methods it does not support', async () => {
    const { extended } = byDefault;
    expect(() => extended.workerDevices).toThrow(
      expect.objectContaining({ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT' }),
    );
    expect(() => extended.parameterDevices).toThrow(/the default strategy does not support workerDevices/);
    await expect(extended.broadcastTo(1, 'cpu:0')).rejects.toMatchObject({
      name: 'NotImplementedError',
      code: 'ERR_COLL_NOT_IMPLEMENTED',
    });
    await expect(byDefault.reduce('most' as never, 1, null)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    const sparse = new IndexedSlices(new Float32Array(1), Int32Array.of(0));
    await expect(byDefault.gather(sparse, 0)).rejects.toMatchObject({
      name: 'NotImplementedError',
      code: 'ERR_COLL_NOT_IMPLEMENTED',
    });
  });

  it("has a scope without effect, which cannot be nested in another strategy's scope", () => {
    expect(byDefault.scope(getReplicaContext)).toBe(alone);
    {
      using _scope = byDefault.scope();
      expect(getReplicaContext()).toBe(alone);
      expect(one.scope(getStrategy)).toBe(one);
    }
    const refused = { code: 'ERR_COLL_CONTEXT', message: expect.stringMatching(/must not be nested/) };
    expect(() => one.scope(() => byDefault.scope(() => {}))).toThrow(expect.objectContaining(refused));
    expect(() => one.scope(() => byDefault.scope())).toThrow(
      expect.objectContaining({ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT' }),
    );
  });

  it('accepts colocateVarsWith, which has no effect', () => {
    const { extended } = byDefault;
    expect(extended.colocateVarsWith(variable(1), () => variable(2, { name: 'beside' }).name)).toBe('beside');
    {
      using _scope = extended.colocateVarsWith(variable(1));
      expect(hasStrategy()).toBe(false);
    }
  });

  it('refuses calls while another strategy is current', async () => {
    const calls: readonly (() => Promise<unknown>)[] = [
      () => byDefault.run(() => 0),
      () => byDefault.reduce('sum', 0, null),
      () => byDefault.extended.reduceTo('sum', 0, 'cpu:0'),
    ];
    for (const call of calls) {
      await expect(one.scope(call)).rejects.toThrow(/^Mixing different strategies/);
    }
  });
});

describe('the default replica', () => {
  it('returns its own values from collectives, without changing them', async () => {
    const value = { weights: Int32Array.of(1, 2), bias: 3 };
    expect(await alone.allReduce('sum', value)).toMatchObject({ weights: { data: Int32Array.of(1, 2) } });
    expect(await alone.allReduce('mean', value)).toMatchObject({
      weights: { data: Float64Array.of(1, 2), dtype: 'float64' },
      bias: { data: Float64Array.of(3), shape: [] },
    });
    const gathered = (await alone.allGather(value.weights, 0)) as { data: Int32Array };
    const sent = (await alone.broadcast(value.weights)) as { data: Int32Array };
    gathered.data[0] = 9;
    sent.data[0] = 9;
    expect(value.weights).toEqual(Int32Array.of(1, 2));
  });

  it('writes results to the memory passed as `into`', async () => {
    const into = new Float64Array(2);
    const result = alone.allReduceSync('mean', Int32Array.of(4, 6), { into });
    expect(result).toMatchObject({ data: into });
    expect(into).toEqual(Float64Array.of(4, 6));
  });

  it('validates its arguments', async () => {
    const sparse = new IndexedSlices(new Float32Array(2), Int32Array.of(0, 1));
    await expect(alone.allReduce('most' as never, 1)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    await expect(alone.allReduce('sum', 'text' as never)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    await expect(alone.allReduce('min', [1, sparse])).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_REFUSED',
      operation: 'all-reduce',
      message: expect.stringContaining('indexed slices support sum and mean, but not MIN'),
    });
    for (const [operation, call] of [
      ['all-gather', () => alone.allGather(sparse, 0)],
      ['broadcast', () => alone.broadcast(sparse as never)],
    ] as const)
      await expect((async () => call())()).rejects.toMatchObject({
        name: 'NotImplementedError',
        operation,
        message: expect.stringMatching(`^${operation} does not support indexed slices`),
      });
    await expect(alone.broadcast(1, 1)).rejects.toThrow(/root must be one of the 1 replicas, got 1/);
    await expect(alone.mergeCall('text' as never)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
  });

  it('is not available inside a merge call', async () => {
    const seen = await alone.mergeCall((strategy, x: number) => [strategy, x, inCrossReplicaContext()], [4]);
    expect(seen).toEqual([byDefault, 4, true]);
    expect(await alone.mergeCall((strategy) => strategy.scope(getStrategy))).toBe(byDefault);
    await expect(alone.mergeCall(() => alone.allReduce('sum', 1))).rejects.toThrow(/inside a replica function/);
  });

  it.each([
    ['allReduce', () => alone.allReduce('sum', 1)],
    ['allGather', () => alone.allGather(Float32Array.of(1), 0)],
    ['broadcast', () => alone.broadcast(1)],
    ['mergeCall', () => alone.mergeCall(() => 0)],
  ] as const)(
    'throws an error that names %s if this method is called while another strategy is current',
    async (operation, call) => {
      const message = expect.stringMatching(`^Mixing different strategies: ${operation} of a `);
      await expect(one.scope<Promise<unknown>>(call)).rejects.toMatchObject({ operation, message });
    },
  );

  it('is not available while another strategy is current', async () => {
    expect.assertions(3);
    await expect(one.scope(() => alone.allReduce('sum', 1))).rejects.toThrow(/^Mixing different strategies/);
    const [error] = await Promise.allSettled([one.run(() => alone.mergeCall(() => 0))]);
    expect(error).toMatchObject({ status: 'rejected', reason: { code: 'ERR_COLL_CONTEXT' } });
    expect((error as PromiseRejectedResult).reason).toBeInstanceOf(CollError);
  });
});

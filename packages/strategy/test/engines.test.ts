import { PerReplica } from '@coll/core';
import { RingAllReduce, ring } from '@coll/ring';
import { MirroredStrategy } from '@coll/strategy';
import { describe, expect, it } from 'vitest';

const devices = ['cpu:0', 'cpu:1'];
const module = new URL('./fixtures/asks.mjs', import.meta.url);

describe('the engine of a strategy', () => {
  it('is by default the fastest available, and explain reports why', async () => {
    const strategy = new MirroredStrategy({ devices, crossDeviceOps: ring });
    const { engine, engines, threadEngine } = await strategy.explain();
    expect(engines.map(({ name }) => name)).toEqual(['native', 'wasm', 'js']);
    expect(engines.find(({ refused }) => refused === undefined)?.name).toBe(engine);
    expect(threadEngine).toBe(engine);
    expect(engines[0]?.refused ?? '').not.toContain('not registered');
  });

  it.each(['js', 'wasm'] as const)('may be %s, for replicas in one thread and in worker threads', async (engine) => {
    await using strategy = new MirroredStrategy({ devices, crossDeviceOps: ring, engine });
    expect(await strategy.explain()).toMatchObject({ engine, threadEngine: engine, engines: [{ name: engine }] });
    expect(await strategy.run((replica) => replica.allReduce('sum', replica.replicaIdInSyncGroup + 1))).toMatchObject({
      values: [{ data: Float64Array.of(3) }, { data: Float64Array.of(3) }],
    });
    expect(await strategy.run(module)).toEqual(new PerReplica([3, 3]));
    expect(await strategy.run(module, { exportName: 'engine' })).toBe(engine);
  });

  it.each(['js', 'wasm'] as const)(
    'may be %s, which allocates memory for replicas in threads and reduces it in place',
    async (engine) => {
      await using strategy = new MirroredStrategy({ devices, crossDeviceOps: ring, engine });
      const isThere = { isInPlace: true, isShared: true };
      const each = [
        { ...isThere, shape: [2, 3], data: [3, 3, 3, 3, 3, 3] },
        { ...isThere, shape: [], data: [10] },
      ];
      const results = await strategy.run(module, { exportName: 'allocated' });
      expect(strategy.experimentalLocalResults(results)).toMatchObject([each, each]);
    },
  );

  it('allocates ordinary memory for replicas that share a thread', async () => {
    await using strategy = new MirroredStrategy({ devices, crossDeviceOps: ring, engine: 'wasm' });
    const made = await strategy.run((replica) => replica.allocate('float32', [replica.replicaIdInSyncGroup, 2]));
    expect(made).toMatchObject({
      values: [
        { shape: [0, 2], device: expect.stringMatching(/:0$/) },
        { shape: [1, 2], device: expect.stringMatching(/:1$/) },
      ],
    });
  });

  it('is the same for the whole strategy: its plug-in cannot request another one', async () => {
    const asking = { name: ring, options: { engine: 'js' } } as const;
    expect(await new MirroredStrategy({ devices, crossDeviceOps: asking, engine: 'js' }).explain()).toMatchObject({
      engine: 'js',
    });
    const other = new MirroredStrategy({ devices, crossDeviceOps: asking, engine: 'wasm' });
    await expect(other.explain()).rejects.toMatchObject({
      code: 'ERR_COLL_VALUE',
      message: expect.stringMatching(/"js"/),
    });
  });

  it('is that of the ops object, if crossDeviceOps is an ops object', async () => {
    const ops = new RingAllReduce({ engine: 'js' });
    const { engine, threadEngine } = await new MirroredStrategy({ devices, crossDeviceOps: ops }).explain();
    expect([engine, threadEngine]).toEqual(['js', undefined]);
    expect(() => new MirroredStrategy({ devices, crossDeviceOps: ops, engine: 'js' })).toThrow(
      /crossDeviceOps is an ops object, which has its own engine/,
    );
  });

  it('must be a known engine', () => {
    expect(() => new MirroredStrategy({ devices, engine: 'cuda' as never })).toThrow(/'auto', native, wasm, js/);
  });

  it('is also the engine of reduction to one device for replicas in one thread', async () => {
    const strategy = new MirroredStrategy({ devices, crossDeviceOps: 'reduction-to-one', engine: 'wasm' });
    expect(await strategy.explain()).toMatchObject({ engine: 'wasm', threadEngine: 'wasm' });
  });
});

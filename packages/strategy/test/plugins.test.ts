import {
  type Candidate,
  CollError,
  CrossDeviceOps,
  createRegistry,
  definePlugin,
  PerReplica,
  registry,
  type Tensor,
} from '@coll/core';
import { portableWorld } from '@coll/core/plugin';
import { direct } from '@coll/direct';
import { RingAllReduce, ring } from '@coll/ring';
import { MirroredStrategy, type MirroredStrategyOptions } from '@coll/strategy';
import { describe, expect, it } from 'vitest';
import { homebody, mine, worldless } from './fixtures/my-plugin.js';
import { mine as otherVersion } from './fixtures/my-plugin-too.js';
import { Float64Ops } from './fixtures/overridden-ops.js';
import { cpu } from './strategies.js';

const module = new URL('./fixtures/asks.mjs', import.meta.url);

function registryOf(...plugins: readonly (typeof mine | typeof homebody | typeof ring)[]) {
  const made = createRegistry();
  for (const plugin of plugins) made.register(plugin as typeof mine);
  return made;
}

const strategyOf = (
  crossDeviceOps: NonNullable<MirroredStrategyOptions['crossDeviceOps']>,
  options: MirroredStrategyOptions = {},
) => new MirroredStrategy({ devices: cpu(2), crossDeviceOps, ...options });

const refusals = (candidates: readonly Candidate[]) => candidates.map(({ name, refused }) => [name, refused]);

describe('a user-defined plug-in', () => {
  it('is found by its name once it is registered, in this thread and in worker threads', async () => {
    expect(() => strategyOf('mine')).toThrow(CollError);
    registry.register(mine);
    const strategy = strategyOf('mine');
    expect(await strategy.explain()).toMatchObject({ name: 'mine (plain)', candidates: [{ name: 'mine' }] });
    expect(await strategy.reduce('sum', new PerReplica([1, 2]), null)).toMatchObject({ data: Float64Array.of(3) });
    expect(await strategy.run(module)).toEqual(new PerReplica([3, 3]));
  });

  it("is chosen by 'auto' if it has the highest priority and does not refuse, also in threads", async () => {
    const known = registryOf(mine, ring);
    const pair = strategyOf('auto', { registry: known });
    expect(await pair.explain()).toMatchObject({ name: 'mine (plain)' });
    expect(await pair.run(module)).toEqual(new PerReplica([3, 3]));
    const crowd = new MirroredStrategy({ devices: cpu(3), registry: known });
    const { name, candidates } = await crowd.explain();
    expect([name, refusals(candidates)]).toEqual([
      'ring',
      [
        ['mine', 'three is a crowd'],
        ['ring', undefined],
        ['reduction-to-one', undefined],
      ],
    ]);
    const many = await new MirroredStrategy({ devices: cpu(4), registry: known }).explain();
    expect(many.candidates[0]).toMatchObject({ name: 'mine', refused: 'it supports up to 3 ranks, not 4' });
  });

  it('receives its options, also in threads', async () => {
    const strategy = strategyOf({ name: mine, options: { label: 'mine own' } });
    expect(await strategy.explain()).toMatchObject({ name: 'mine (mine own)' });
    expect(await strategy.run(module)).toEqual(new PerReplica([3, 3]));
  });

  it('is asked whether it supports threads', async () => {
    const strategy = strategyOf('auto', { registry: registryOf(homebody, ring) });
    expect(await strategy.explain()).toMatchObject({ name: 'mine (home)' });
    expect(await strategy.run(module)).toEqual(new PerReplica([3, 3]));
    const named = strategyOf('homebody', { registry: registryOf(homebody) });
    await expect(named.run(module)).rejects.toMatchObject({
      code: 'ERR_COLL_REFUSED',
      message: expect.stringMatching(/stays at home/),
    });
  });

  it('supports gather, even if its algorithm only reduces', async () => {
    const strategy = strategyOf(mine);
    const gathered = await strategy.run(module, { exportName: 'gather' });
    const datas = strategy.experimentalLocalResults(gathered).map((result) => (result as Tensor).data);
    expect(datas).toEqual([Float32Array.of(0, 1), Float32Array.of(0, 1)]);
  });

  it('may ignore the world that it gets: replicas in threads then support only merge calls', async () => {
    const found = await strategyOf(worldless).run(module, { exportName: 'withoutWorld' });
    expect(found).toEqual(['NotImplementedError', 'NotImplementedError', 'NotImplementedError', 'merged']);
  });

  it('throws for unsupported devices when it is requested by name too', async () => {
    const strategy = new MirroredStrategy({ devices: cpu(3), crossDeviceOps: mine });
    for (const failing of [
      strategy.explain(),
      strategy.reduce('sum', new PerReplica([1, 2, 3]), null),
      strategy.run(module),
    ])
      await expect(failing).rejects.toMatchObject({
        code: 'ERR_COLL_REFUSED',
        message: expect.stringMatching(/crowd/),
      });
  });

  it('is asked again after a refusal', async () => {
    let isReady = false;
    const plugin = definePlugin({
      name: 'late',
      module: import.meta.url,
      probe: () => (isReady ? { available: true } : { available: false, reason: 'not yet' }),
      create: (options, world) => ring.create(options, world),
    });
    const strategy = strategyOf(plugin);
    await expect(strategy.explain()).rejects.toThrow(/not yet/);
    await strategy.close();
    isReady = true;
    expect(await strategy.explain()).toMatchObject({ name: 'ring' });
  });

  it('must be exported by the module that it names', async () => {
    const lost = definePlugin({ name: 'lost', module: mine.module, create: () => new RingAllReduce() });
    await expect(strategyOf(lost).run(module)).rejects.toMatchObject({
      code: 'ERR_COLL_MODULE',
      message: expect.stringMatching(/exports no plug-in called "lost"; .*module: import.meta.url/),
    });
    const noUrl = definePlugin({ name: 'lost', module: '/somewhere.js', create: () => new RingAllReduce() });
    await expect(strategyOf(noUrl).run(module)).rejects.toMatchObject({
      code: 'ERR_COLL_MODULE',
      message: expect.stringMatching(/"\/somewhere.js" is not a URL/),
    });
  });

  it('receives options across threads only as plain data', async () => {
    const strategy = strategyOf({ name: ring, options: { onDone: () => 0 } });
    await expect(strategy.run(module)).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_NOT_CLONEABLE',
      message: expect.stringMatching(/^an option of plug-in "ring" cannot be sent to another thread/),
    });
  });
});

describe('two versions of a plug-in', () => {
  it('are refused when the second one is registered', () => {
    const known = registryOf(mine);
    known.register(mine);
    expect(() => known.register(otherVersion)).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_DUPLICATE_PLUGIN',
        message: expect.stringMatching(
          /two plug-ins are called "mine": .*my-plugin.js is already registered, .*my-plugin-too.js has the same name/,
        ),
      }),
    );
  });

  it('can be used side by side as objects', async () => {
    expect(await strategyOf(mine).explain()).toMatchObject({ name: 'mine (plain)' });
    await expect(strategyOf(otherVersion).explain()).rejects.toThrow('is never created');
  });
});

describe('ops that override only the methods of TensorFlow', () => {
  const hidden = 2 ** -30;
  const [one, less] = [Float32Array.of(1, 2), Float32Array.of(hidden, -2)];

  it('serve the calls of replicas, all values of a call together', async () => {
    const ops = new Float64Ops(portableWorld(cpu(3)));
    await using strategy = new MirroredStrategy({ devices: cpu(3), crossDeviceOps: ops });
    const sum = Float32Array.of(2, 2);
    const third = Float32Array.of(2 / 3, 2 / 3);
    await strategy.run(async (context) => {
      const own = context.replicaIdInSyncGroup === 1 ? less : one;
      const into = new Float32Array(2);
      expect(await context.allReduce('sum', [own, { bias: own }])).toMatchObject([
        { data: sum },
        { bias: { data: sum } },
      ]);
      expect(await context.allReduce('mean', own, { into })).toMatchObject({ data: third });
      expect(into).toEqual(third);
    });
    expect(ops.calls).toEqual([
      ['batchReduce', 2],
      ['reduce', 1],
      ['reduce', 1],
      ['batchReduce', 1],
      ['reduce', 1],
    ]);
  });

  it('serve calls from outside of replicas', async () => {
    const ops = new Float64Ops(portableWorld(cpu(2)));
    await using strategy = strategyOf(ops);
    const value = new PerReplica([one, less]);
    expect(await strategy.reduce('mean', value, null)).toMatchObject({ data: Float32Array.of(0.5, 0) });
    expect(await ops.reduce('SUM', value, 'cpu:1')).toMatchObject({
      data: Float32Array.of(1, 0),
      device: expect.stringMatching(/CPU:1$/),
    });
  });
});

describe('the name of an unregistered plug-in', () => {
  it('is refused at once, with the registered names and how to install it', () => {
    const known = registryOf(ring, mine);
    expect(() => strategyOf('nccl', { registry: known })).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_UNKNOWN_PLUGIN',
        message:
          'no plug-in called "nccl" is registered; registered: mine, ring, reduction-to-one. Install it: npm install @coll/nccl, then import \'@coll/nccl/register\'',
      }),
    );
    expect(() => strategyOf({ name: 'rnig' }, { registry: known })).toThrow(
      /"rnig".*Import the module that registers it/,
    );
  });
});

describe('crossDeviceOps', () => {
  it.each([5, null, {}, { name: 5 }, [], true])('cannot be %j', (request) => {
    expect(() => strategyOf(request as never)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
  });

  it('may be an ops object, which works in this thread only and is not closed with the strategy', async () => {
    const ops = new RingAllReduce();
    const strategy = strategyOf(ops);
    expect(await strategy.explain()).toMatchObject({ name: 'ring', candidates: [] });
    await expect(strategy.run(module)).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_NOT_CLONEABLE',
      message: expect.stringMatching(/pass its plug-in, \{ name, options \} or a registered name instead/),
    });
    const value = new PerReplica([1, 2]);
    await strategy.reduce('sum', value, null);
    await strategy.close();
    expect(await strategy.reduce('sum', value, null)).toMatchObject({ data: Float64Array.of(3) });
  });

  it('of the strategy compare their results in threads with checkResults, which ops objects refuse', async () => {
    await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: ring, checkResults: 1 });
    const sums = await strategy.run(new URL('./fixtures/asks.mjs', import.meta.url));
    expect(sums).toEqual(new PerReplica([3, 3]));
    const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE' };
    expect(() => new MirroredStrategy({ crossDeviceOps: new RingAllReduce(), checkResults: 1 })).toThrow(
      expect.objectContaining({ ...refused, message: expect.stringContaining('pass its plug-in, { name, options }') }),
    );
    expect(() => new MirroredStrategy({ checkResults: -1 })).toThrow(expect.objectContaining(refused));
  });

  it('are closed with the strategy that created them', async () => {
    const closed: string[] = [];
    class Watched extends RingAllReduce {
      override async close(): Promise<void> {
        closed.push('ops');
        await super.close();
      }
    }
    const plugin = definePlugin({ name: 'watched', module: import.meta.url, create: () => new Watched() });
    {
      await using strategy = strategyOf(plugin);
      await strategy.run((replica) => replica.allReduce('sum', 1));
      expect(strategy.extended.workerDevices).toHaveLength(2);
      expect(closed).toEqual([]);
    }
    expect(closed).toEqual(['ops']);
    await using unused = strategyOf(plugin);
    await unused.close();
    expect(closed).toEqual(['ops']);
    expect(new Watched()).toBeInstanceOf(CrossDeviceOps);
  });

  it('are by default the ops of the registered plug-in of highest priority, or else the built-in ops', async () => {
    expect(await new MirroredStrategy({ devices: cpu(2), registry: registryOf() }).explain()).toMatchObject({
      name: 'reduction-to-one',
    });
    const { name } = await new MirroredStrategy({
      devices: cpu(2),
      registry: registryOf(ring, direct as never),
    }).explain();
    expect(name).toBe('direct');
  });
});

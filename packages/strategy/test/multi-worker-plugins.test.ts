import {
  type CrossDeviceOps,
  createRegistry,
  definePlugin,
  IndexedSlices,
  PerReplica,
  registry,
  type Tensor,
  tensor,
  toNumbers,
  type World,
} from '@coll/core';
import { MultiWorkerAllReduce, multiWorker } from '@coll/multi-worker';
import { reductionToOne } from '@coll/reduction-to-one';
import { RingAllReduce, ring } from '@coll/ring';
import { MirroredStrategy, MultiWorkerMirroredStrategy, type MultiWorkerMirroredStrategyOptions } from '@coll/strategy';
import { afterEach, describe, expect, it } from 'vitest';
import { mine, worldless } from './fixtures/my-plugin.js';
import { Float64Ops } from './fixtures/overridden-ops.js';
import { closeGroups, cpus, groupsHere, groupWith, workersHere } from './workers-here.js';

afterEach(closeGroups);

type Ops = MultiWorkerMirroredStrategyOptions['crossDeviceOps'];
const numbersOf = (value: unknown) => toNumbers(value as Tensor);
const refusal = (message: string) => ({ code: 'ERR_COLL_REFUSED', message: expect.stringContaining(message) });

/** What all workers return, in rank order, after their strategies have closed. */
async function onWorkers<Result>(
  [workers, replicas]: readonly [workers: number, replicas: number],
  crossDeviceOps: Ops,
  run: (strategy: MultiWorkerMirroredStrategy, worker: number) => Promise<Result>,
  options: MultiWorkerMirroredStrategyOptions = {},
): Promise<Result[]> {
  const strategies = await workersHere(workers, replicas, { crossDeviceOps, ...options });
  try {
    return await Promise.all(strategies.map(run));
  } finally {
    await Promise.all(strategies.map((strategy) => strategy.close()));
  }
}

describe.each([
  [2, 1],
  [2, 2],
  [3, 1],
])('a plug-in between %i workers with %i devices each', (workers, devices) => {
  const ranks = workers * devices;
  const sum = (ranks * (ranks - 1)) / 2;

  it.each([
    ['ring', ring],
    ['reduction-to-one', reductionToOne],
  ])('serves dense values of replicas and of strategies: %s', async (name, plugin) => {
    const results = await onWorkers([workers, devices], plugin as Ops, async (strategy) => {
      expect(await strategy.explain()).toMatchObject({ name });
      const own = await strategy.run(async (context) => {
        const rank = context.replicaIdInSyncGroup;
        const into = new Float32Array(2);
        await context.allReduce('mean', Float32Array.of(rank, 2 * rank), { into });
        const both = await context.allReduce('sum', { a: tensor([rank]), b: [Int32Array.of(1, rank)] });
        return [[...into], numbersOf(both.a), numbersOf(both.b[0])];
      });
      const locals = strategy.experimentalLocalResults(own);
      const value = new PerReplica(cpus(devices).map((_, place) => tensor([strategy.extended.firstReplica + place])));
      const reduced = await strategy.reduce('sum', value, null);
      const [one, other] = await strategy.extended.batchReduceTo('SUM', [
        [value, 'cpu:0'],
        [value, strategy.extended.workerDevices],
      ]);
      return [...locals, numbersOf(reduced), numbersOf(one), strategy.experimentalLocalResults(other).map(numbersOf)];
    });
    const mean = sum / ranks;
    const expected = [[mean, 2 * mean], [sum], [ranks, sum]];
    const copies = cpus(devices);
    for (const result of results)
      expect(result).toEqual([...copies.map(() => expected), [sum], [sum], copies.map(() => [sum])]);
  });

  it('leaves gathers, broadcasts of variables and sparse values to work as without it', async () => {
    const run = async (strategy: MultiWorkerMirroredStrategy) => {
      const own = await strategy.run(async (context) => {
        const rank = context.replicaIdInSyncGroup;
        const slices = new IndexedSlices(tensor([rank, 1], { shape: [1, 2] }), tensor(Int32Array.of(rank)), [ranks, 2]);
        const [sparse, dense] = (await context.allReduce('sum', [slices, tensor([rank])], {
          deduplicate: true,
        })) as unknown as [IndexedSlices, Tensor];
        const gathered = await context.allGather(tensor(Float32Array.of(rank)), 0);
        return [numbersOf(sparse.values), numbersOf(sparse.indices), numbersOf(dense), numbersOf(gathered)];
      });
      return strategy.experimentalLocalResults(own);
    };
    const withPlugin = await onWorkers([workers, devices], ring, run);
    expect(withPlugin).toEqual(await onWorkers([workers, devices], undefined, run));
    expect(withPlugin[0]?.[0]?.[2]).toEqual([sum]);
  });
});

describe('crossDeviceOps of several workers', () => {
  const ready = (strategy: MultiWorkerMirroredStrategy) => strategy.ready();

  it('may be a name of the registry, with all ranks counted for its limits', async () => {
    const own = createRegistry();
    own.register(mine);
    await onWorkers([2, 1], 'mine', ready, { registry: own });
    await expect(onWorkers([2, 2], 'mine', ready, { registry: own })).rejects.toMatchObject({
      code: 'ERR_COLL_REFUSED',
      message: expect.stringContaining('it supports up to 3 ranks, not 4'),
    });
    await expect(onWorkers([2, 1], 'unknown', ready)).rejects.toMatchObject({ code: 'ERR_COLL_UNKNOWN_PLUGIN' });
    expect(registry.has('mine')).toBe(false);
  });

  it('may have an algorithm that only reduces, and gets its options', async () => {
    const request = { name: mine, options: { label: 'shared' } };
    const results = await onWorkers([2, 1], request, async (strategy) => {
      const value = await strategy.run((context) => context.allReduce('sum', tensor([context.replicaIdInSyncGroup])));
      return [(await strategy.explain()).name, ...strategy.experimentalLocalResults(value).map(numbersOf)];
    });
    for (const result of results) expect(result).toEqual(['mine (shared)', [1]]);
  });

  it('may be an ops object that combines the values of all workers, which stays open', async () => {
    const groups = await groupsHere(2);
    const tasks = groups.map((_, task) => `/job:worker/task:${task}`);
    const objects = groups.map((group) => new MultiWorkerAllReduce(tasks, 0, { group }));
    const sums = await Promise.all(
      groups.map(async (group, rank) => {
        const crossDeviceOps = objects[rank] as CrossDeviceOps;
        await using strategy = new MultiWorkerMirroredStrategy({ group, crossDeviceOps });
        expect(await strategy.explain()).toMatchObject({ name: 'multi-worker' });
        const sum = await strategy.run((context) => context.allReduce('sum', tensor([rank + 1])));
        return numbersOf(strategy.experimentalLocalResults(sum)[0]);
      }),
    );
    expect(sums).toEqual([[3], [3]]);
    await Promise.all(objects.map((ops) => ops.close()));
  });

  it.each([
    ['an ops object of one worker', () => new RingAllReduce(), '"ring" cannot serve several workers in this way'],
    ['ops created without their world', () => worldless, 'created without the world of all workers'],
    [
      'a function that gets all components',
      () => ({ name: reductionToOne, options: { accumulationFn: ([first]: readonly Tensor[]) => first as Tensor } }),
      'accumulationFn needs the components of all replicas in one thread',
    ],
    ['a plug-in that needs the group', () => multiWorker as never, 'its ops need the group of workers'],
    ['nccl', () => definePlugin({ ...ring, name: 'nccl' }) as never, "implementation: 'NCCL'"],
  ])('cannot be %s', async (_, crossDeviceOps, message) => {
    for (const devices of [1, 2])
      await expect(onWorkers([2, devices], crossDeviceOps(), ready)).rejects.toMatchObject(refusal(message));
  });

  it('cannot be ops that override methods which get the values of one worker', async () => {
    const float64 = definePlugin({
      name: 'float64',
      module: import.meta.url,
      create: (_, world) => new Float64Ops(world as World),
    });
    class Doubled extends RingAllReduce {
      protected override async batchReduceImplementation(
        ...call: Parameters<RingAllReduce['batchReduceImplementation']>
      ) {
        return super.batchReduceImplementation(...call);
      }
    }
    const doubled = definePlugin({
      name: 'doubled',
      module: import.meta.url,
      create: (_, world) => new Doubled({}, world),
    });
    for (const devices of [1, 2]) {
      await expect(onWorkers([2, devices], float64, ready)).rejects.toMatchObject(
        refusal('the ops "float64" cannot serve several workers, because its reduceImplementation'),
      );
      await expect(onWorkers([2, devices], doubled, ready)).rejects.toMatchObject(
        refusal('its batchReduceImplementation gets the components of one worker only'),
      );
    }
  });

  it('cannot be a plug-in if a library executes the collectives between workers', async () => {
    const groups = (await groupsHere(2)).map((group) => groupWith(group, { executesBy: 'MPI' }));
    const failing = groups.map(async (group) => {
      await using strategy = new MultiWorkerMirroredStrategy({ group, crossDeviceOps: ring });
      await strategy.ready();
    });
    const refused = failing.map((call) =>
      expect(call).rejects.toMatchObject(refusal('MPI executes collectives between workers')),
    );
    await Promise.all(refused);
  });

  it('must be the same on all workers', async () => {
    const groups = await groupsHere(2);
    const strategies = groups.map(
      (group, rank) => new MultiWorkerMirroredStrategy({ group, crossDeviceOps: rank === 0 ? ring : reductionToOne }),
    );
    const failing = strategies.map((strategy) =>
      expect(strategy.ready()).rejects.toMatchObject({
        code: 'ERR_COLL_CLUSTER',
        message: expect.stringContaining(
          'worker 0 has crossDeviceOps "ring", worker 1 has crossDeviceOps "reduction-to-one"',
        ),
      }),
    );
    await Promise.all(failing);
    await Promise.all(strategies.map((strategy) => strategy.close()));
  });

  it('excludes NCCL as implementation', () => {
    const options = { crossDeviceOps: ring, communicationOptions: { implementation: 'nccl' } } as const;
    return expect(workersHere(1, 1, options)).rejects.toMatchObject(refusal('exclude each other'));
  });

  it('serves a single worker as in MirroredStrategy', async () => {
    const [results] = await onWorkers([1, 2], mine, async (strategy) => {
      const sum = await strategy.run((context) => context.allReduce('sum', tensor([1])));
      return [(await strategy.explain()).name, ...strategy.experimentalLocalResults(sum).map(numbersOf)];
    });
    await using mirrored = new MirroredStrategy({ devices: cpus(2), crossDeviceOps: mine });
    expect(results).toEqual([(await mirrored.explain()).name, [2], [2]]);
  });
});

import {
  AssertionError,
  CommunicationOptions,
  Mirrored,
  PerReplica,
  ReduceOp,
  registry,
  setLogSink,
  type Tensor,
  tensor,
  ValueError,
} from '@coll/core';
import { portableWorld } from '@coll/core/plugin';
import { afterEach, describe, expect, it } from 'vitest';
import { processGroupDoubles } from '../test/doubles/process-group-double.js';
import { ncclDouble, reducedBy } from '../test/nccl-double.js';
import { CollectiveAllReduce } from './collective-all-reduce.js';
import { CollectiveKeys } from './compat/collective-keys.js';
import { MultiWorkerAllReduce } from './multi-worker-all-reduce.js';

const { SUM, MEAN } = ReduceOp;
const two = ['cpu:0', 'cpu:1'];

function valueOn(devices: readonly string[], numbers: readonly number[]): PerReplica<Tensor> {
  return new PerReplica(
    devices.map((device, index) => tensor(Float32Array.of(numbers[index] as number, 1), { device })),
  );
}

const listsOf = (result: unknown) =>
  (result instanceof Mirrored ? result.values : [result as Tensor]).map(({ data }) => [...(data as Float32Array)]);

const logged: string[] = [];
afterEach(() => {
  setLogSink();
  logged.length = 0;
});
const listen = () => setLogSink((level, message) => void logged.push(`${level}: ${message}`));

describe('devices and group size', () => {
  it('must be passed together, and must match', () => {
    expect(() => new CollectiveAllReduce(two, 3)).toThrow(/group_size 3: it must be divisible by 2/);
    for (const collectiveKeys of [null, {}] as never[])
      expect(() => new CollectiveAllReduce(two, 2, { collectiveKeys })).toThrow(
        /collectiveKeys must be an instance of CollectiveKeys/,
      );
    expect(() => new CollectiveAllReduce(two, 4)).toThrow(
      /2 devices on this worker and 2 workers, but 2 devices take part/,
    );
    expect(() => new CollectiveAllReduce(undefined, 2)).toThrow(ValueError);
    for (const size of [0, -2, 1.5, Number.NaN]) {
      expect(() => new CollectiveAllReduce(two, size)).toThrow(/whole number/);
    }
    const [group] = processGroupDoubles(3);
    expect(() => new CollectiveAllReduce(two, 4, { group })).toThrow(/but 6 devices take part/);
    expect(() => new CollectiveAllReduce(two, 6, { group })).not.toThrow();
    expect(() => new CollectiveAllReduce(two, 2, {}, portableWorld(two))).not.toThrow();
  });

  it('are refused if no device is passed, or one twice, or an invalid one', () => {
    expect(() => new CollectiveAllReduce([])).toThrow(ValueError);
    expect(() => new CollectiveAllReduce(['cpu:0', '/device:CPU:0'])).toThrow(AssertionError);
    expect(() => new CollectiveAllReduce(['nowhere:0'])).toThrow(ValueError);
  });
});

describe('errors about the components of one worker', () => {
  it.each([
    [0, 1, /replica 0 \(worker 0\) has shape \[2\], replica 1 \(worker 0\) has \[3\]/],
    [1, 3, /replica 2 \(worker 1\) has shape \[2\], replica 3 \(worker 1\) has \[3\]/],
  ])('name the replicas of worker %i by their index across all workers', async (worker, rank, message) => {
    const group = processGroupDoubles(2)[worker];
    await using ops = new CollectiveAllReduce(two, 4, { group });
    const value = new PerReplica(two.map((device, index) => tensor(new Float32Array(index + 2), { device })));
    const failure = { code: 'ERR_COLL_SHAPE_MISMATCH', rank, message: expect.stringMatching(message) };
    await expect(ops.reduce(SUM, value, two)).rejects.toMatchObject(failure);
    await expect(ops.batchReduce(SUM, [[value, two]])).rejects.toMatchObject(failure);
    const matrices = new PerReplica(
      two.map((device, index) => tensor(new Float32Array(index + 2), { device, shape: [1, index + 2] })),
    );
    await expect(ops.gather(matrices, two, 0)).rejects.toMatchObject({
      code: 'ERR_COLL_SHAPE_MISMATCH',
      rank,
      message: expect.stringMatching(
        new RegExp(`replica ${rank - 1} \\(worker ${worker}\\) has shape .*replica ${rank} \\(`),
      ),
    });
  });
});

describe('options of CollectiveAllReduce', () => {
  it('may be CommunicationOptions or an object with its fields', () => {
    const bad = { bytesPerPack: -1 };
    expect(() => new CollectiveAllReduce(two, 2, bad)).toThrow(/bytesPerPack/);
    expect(() => new CollectiveAllReduce(two, 2, { implementation: 'mpi' as 'ring' })).toThrow(/implementation/);
    expect(() => new CollectiveAllReduce(two, 2, new CommunicationOptions(100, 3, 'ring'))).not.toThrow();
  });

  it.each([0, 'RING', null, [], 2 ** 20])('must be an object, not %j', (options) => {
    expect(() => new CollectiveAllReduce(['cpu:0'], 1, options as never)).toThrow('options must be an object');
    expect(() => new MultiWorkerAllReduce(['/job:worker/task:0'], 1, options as never)).toThrow(
      'options must be an object',
    );
  });

  it('are the defaults for calls that do not override them', async () => {
    const executed: number[] = [];
    const groups = processGroupDoubles(2, {
      executed: ({ kind }, _, length) => kind === 'all-reduce' && executed.push(length),
    });
    const values = (worker: number) =>
      [15, 10, 2, 2].map((length) => tensor(new Float32Array(length), { device: `cpu:${worker}` }));
    const reduce = async (call: { readonly bytesPerPack?: number }) => {
      executed.length = 0;
      await Promise.all(
        groups.map(async (group) => {
          const own = [`cpu:${group.rank}`];
          await using ops = new CollectiveAllReduce(own, 2, { group, implementation: 'RING', bytesPerPack: 39 });
          await ops.batchReduce(
            SUM,
            values(group.rank).map((value) => [value, value] as const),
            call,
          );
        }),
      );
      return [...executed];
    };
    // Packs are filled from the last value on. A pack is closed once it holds more than `bytesPerPack` bytes.
    expect(await reduce({})).toEqual([14, 15]);
    expect(await reduce({ bytesPerPack: 1 })).toEqual([2, 2, 10, 15]);
    expect(await reduce({ bytesPerPack: 1000 })).toEqual([29]);
  });
});

describe('NCCL', () => {
  it('on CPUs is replaced by a ring, with a single warning', async () => {
    listen();
    await using ops = new CollectiveAllReduce(two, 2, { implementation: 'NCCL' });
    const value = valueOn(two, [1, 2]);
    for (let call = 0; call < 3; call++)
      expect(listsOf(await ops.reduce(SUM, value, value))).toEqual([
        [3, 2],
        [3, 2],
      ]);
    expect(ops.explain().notes.filter((note) => note.includes('NCCL'))).toEqual([
      'NCCL was requested, but cpu:0 is not a GPU; a ring is used instead',
    ]);
    expect(logged.filter((line) => line.includes('NCCL'))).toHaveLength(1);
  });

  it('on GPUs uses the registered plug-in within each worker, and a ring across workers', async () => {
    const gpus = ['gpu:0', 'gpu:1'];
    const value = valueOn(gpus, [1, 2]);
    await using before = new CollectiveAllReduce(gpus, 2);
    expect(listsOf(await before.reduce(MEAN, value, value, { implementation: 'NCCL' }))).toEqual([
      [1.5, 1],
      [1.5, 1],
    ]);
    expect(before.explain().notes.join()).toMatch(/no plug-in is registered as "nccl"/);
    registry.register(ncclDouble);
    reducedBy.length = 0;
    expect(listsOf(await before.reduce(MEAN, value, value, { implementation: 'nccl' }))).toEqual([
      [1.5, 1],
      [1.5, 1],
    ]);
    expect(reducedBy).toEqual([gpus]);
    const groups = processGroupDoubles(2);
    const results = await Promise.all(
      groups.map(async (group) => {
        const own = gpus.map((gpu) => `/job:worker/task:${group.rank}/${gpu}`);
        await using ops = new CollectiveAllReduce(own, 4, { group, implementation: 'NCCL' });
        const batch = [valueOn(own, [group.rank, 2]), valueOn(own, [4, group.rank])];
        const reduced = await ops.batchReduce(
          SUM,
          batch.map((item) => [item, item] as const),
          { bytesPerPack: 1 },
        );
        return reduced.map((result) => listsOf(result));
      }),
    );
    for (const [first, second] of results) {
      expect(first).toEqual([
        [5, 4],
        [5, 4],
      ]);
      expect(second).toEqual([
        [9, 4],
        [9, 4],
      ]);
    }
    expect(reducedBy).toHaveLength(5);
  });

  it('is refused without a second algorithm if the devices are in several processes', () => {
    const [group] = processGroupDoubles(2);
    const workers = ['/job:worker/task:0', '/job:worker/task:1'];
    const options = { group, allReduceSpec: [['xring', 1, 10], ['nccl']] } as const;
    expect(() => new MultiWorkerAllReduce(workers, 2, options)).toThrow(/entry 1 \(nccl\).*use nccl\/xring/);
  });
});

describe('workers in separate processes', () => {
  it('use the engine of their group', async () => {
    listen();
    const workers = ['/job:worker/task:0', '/job:worker/task:1'];
    const reduced = processGroupDoubles(2).map(async (group) => {
      await using ops = new CollectiveAllReduce(['cpu:0'], 2, { group });
      await using specified = new MultiWorkerAllReduce(workers, 1, { group, allReduceSpec: 'xring' });
      const value = valueOn(['cpu:0'], [group.rank]);
      expect(listsOf(await ops.reduce(SUM, value, value))).toEqual([[1, 2]]);
      expect(listsOf(await specified.reduce(SUM, value, value))).toEqual([[1, 2]]);
      for (const made of [ops, specified]) expect(made.explain()).toMatchObject({ engine: 'native', engines: [] });
    });
    await Promise.all(reduced);
    expect(logged.filter((line) => line.includes('engine'))).toEqual([]);
  });
  const among = <Result>(size: number, work: (ops: CollectiveAllReduce, rank: number) => Promise<Result>) =>
    Promise.all(
      processGroupDoubles(size).map(async (group) => {
        await using ops = new CollectiveAllReduce(two, 2 * size, { group });
        return await work(ops, group.rank);
      }),
    );

  it('count the same collectives on every worker and device', async () => {
    const keys = [0, 1].map(() => new CollectiveKeys());
    await Promise.all(
      processGroupDoubles(2).map(async (group) => {
        const collectiveKeys = keys[group.rank] as CollectiveKeys;
        await using ops = new CollectiveAllReduce(two, 4, { group, collectiveKeys, implementation: 'RING' });
        for (let call = 0; call < 3; call++) await ops.reduce(SUM, valueOn(two, [1, 2]), two);
      }),
    );
    for (const key of keys) expect(two.map((device) => key.getInstanceKey(1, device))).toEqual([103, 103]);
  });

  it('need one component on each device', async () => {
    const outcomes = await among(2, (ops) => ops.reduce(SUM, valueOn(['cpu:0'], [1]), 'cpu:0').catch((error) => error));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ code: 'ERR_COLL_VALUE', message: /but one has 1/ });
  });

  it('each copy a broadcast value to their own devices', async () => {
    const results = await among(2, async (ops, rank) => listsOf(await ops.broadcast(Float32Array.of(rank), two)));
    expect(results).toEqual([
      [[0], [0]],
      [[1], [1]],
    ]);
  });

  it('support several replicas in one thread, which combine their values first', async () => {
    const results = await Promise.all(
      processGroupDoubles(2).map(async (group) => {
        await using ops = new CollectiveAllReduce(two, 4, { group }, portableWorld(two));
        const own = (replica: number) => Float32Array.of(10 * group.rank + replica);
        return await Promise.all(
          [0, 1].map(async (replica) => listsOf(await ops.allReduce(SUM, own(replica), replica))[0]),
        );
      }),
    );
    expect(results).toEqual([
      [[22], [22]],
      [[22], [22]],
    ]);
  });

  it.each([1, 2])('support several replicas in one thread if no world is passed, with %i workers', async (size) => {
    const results = await Promise.all(
      processGroupDoubles(size).map(async (group) => {
        await using ops = new CollectiveAllReduce(two, 2 * size, { group });
        const sums = [0, 1].map(async (replica) => listsOf(await ops.allReduce(SUM, Float32Array.of(1), replica))[0]);
        return await Promise.all(sums);
      }),
    );
    expect(results).toEqual(Array.from({ length: size }, () => [[2 * size], [2 * size]]));
  });

  it('support a worker with a single replica', async () => {
    const [group] = processGroupDoubles(1);
    for (const devices of [['cpu:0'], undefined]) {
      await using ops = new CollectiveAllReduce(devices, 1, { group });
      expect(listsOf(await ops.allReduce(MEAN, Float32Array.of(3), 0))).toEqual([[3]]);
      expect(listsOf(ops.allReduceSync(SUM, Float32Array.of(4), 0))).toEqual([[4]]);
    }
    await using ops = new CollectiveAllReduce(['cpu:0']);
    expect(listsOf(await ops.allReduce(SUM, Float32Array.of(5), 0, { implementation: 'RING' }))).toEqual([[5]]);
  });

  it('gather with a ring if a ring was requested', async () => {
    const executed: string[] = [];
    await Promise.all(
      processGroupDoubles(3, { executed: ({ kind }, algorithm) => void executed.push(`${kind} by ${algorithm}`) }).map(
        async (group) => {
          await using ops = new CollectiveAllReduce(['cpu:0'], 3, { group, implementation: 'RING' });
          await ops.gather(tensor(Float32Array.of(group.rank), { device: 'cpu:0' }), 'cpu:0', 0);
        },
      ),
    );
    expect(executed.filter((collective) => !collective.endsWith('by ring'))).toEqual([]);
    expect(executed).not.toEqual([]);
  });

  it('warn if the destinations differ from the devices of the values', async () => {
    listen();
    await among(2, (ops) => ops.batchReduce(SUM, [[valueOn(two, [1, 2]), 'cpu:0']]));
    expect(logged.filter((line) => line.includes('equal destinations'))).not.toEqual([]);
  });

  it('refuse calls once they are closed, and leave the group open', async () => {
    await Promise.all(
      processGroupDoubles(2).map(async (group) => {
        const ops = new CollectiveAllReduce(two, 4, { group });
        const value = valueOn(two, [1, 2]);
        await ops.reduce(SUM, value, value);
        await ops.close();
        await ops.close();
        await expect(ops.reduce(SUM, value, value)).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
        await using others = new CollectiveAllReduce(two, 4, { group });
        expect(listsOf(await others.reduce(SUM, value, value))).toEqual([
          [6, 4],
          [6, 4],
        ]);
      }),
    );
  });

  it('must be as many as the worker devices that were passed', () => {
    const [group] = processGroupDoubles(3);
    expect(() => new MultiWorkerAllReduce(['/job:worker/task:0'], 1, { group })).toThrow(
      /1 workers, but the group has 3/,
    );
    expect(() => new MultiWorkerAllReduce(undefined, undefined, { group, allReduceSpec: 'nccl/rechd' })).toThrow(
      /power/,
    );
  });
});

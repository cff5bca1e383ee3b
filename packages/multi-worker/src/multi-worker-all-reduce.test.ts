import { type Mirrored, PerReplica, ReduceOp, setLogSink, type Tensor, tensor, ValueError } from '@coll/core';
import { portableWorld } from '@coll/core/plugin';
import { afterEach, describe, expect, it } from 'vitest';
import { MultiWorkerAllReduce, type MultiWorkerAllReduceOptions } from './multi-worker-all-reduce.js';

const tasks = (count: number) => Array.from({ length: count }, (_, task) => `/job:worker/task:${task}`);

/** Device names, worker by worker, with `gpus` devices of `type` in each worker. */
function devicesOf(workers: number, gpus: number, type = 'GPU'): string[] {
  return tasks(workers).flatMap((task) => Array.from({ length: gpus }, (_, gpu) => `${task}/device:${type}:${gpu}`));
}

function spread(devices: readonly string[], elements: readonly number[]): PerReplica<Tensor> {
  return new PerReplica(
    devices.map((device, rank) =>
      tensor(
        Float32Array.from(elements, (element) => element * (rank + 1)),
        { device },
      ),
    ),
  );
}

const numbersOf = (result: unknown) => (result as Mirrored<Tensor>).values.map(({ data }) => [...data]);

afterEach(() => setLogSink());

describe('creating a MultiWorkerAllReduce', () => {
  it('divides two shards across the CPUs of two workers by default', () => {
    expect(() => new MultiWorkerAllReduce(tasks(2), 2)).not.toThrow();
    expect(() => new MultiWorkerAllReduce(tasks(2), 0)).not.toThrow();
  });

  it('throws and says what to change if the default needs more workers', () => {
    expect(() => new MultiWorkerAllReduce(tasks(1), 2)).toThrow(
      "allReduceSpec entry 0 (pscpu/pscpu): only 1 devices, but group_size=2 (one CPU per worker gathers, and there is 1 worker): use 1 shard, such as ['pscpu/pscpu', 1, -1], or name more workers",
    );
  });

  it('succeeds without NCCL even if the specification contains it', () => {
    const allReduceSpec = [
      ['nccl/xring', 1, 1024],
      ['pscpu/pscpu', 2, -1],
    ] as const;
    expect(() => new MultiWorkerAllReduce(tasks(2), 2, { allReduceSpec })).not.toThrow();
  });

  it.each<[string, number, number, unknown, RegExp]>([
    ['an unknown algorithm', 2, 2, 'foo', /entry 0 .*unknown algorithm "foo"/],
    [
      'more sub-chunks than GPUs per worker',
      2,
      2,
      ['xring', 3],
      /entry 0 \(xring\): 3 sub-chunks need at least 3 GPUs/,
    ],
    ['a ring without GPUs', 2, 0, 'xring', /1 sub-chunks need at least 1 GPUs in each worker, got 0/],
    [
      'more shards than CPUs',
      2,
      2,
      [
        ['xring', 1, 9],
        ['pscpu', 3],
      ],
      /entry 1 \(pscpu\): only 2 devices, but group_size=3/,
    ],
    [
      'more shards than CPUs, with NCCL',
      2,
      2,
      ['nccl/pscpu', 3],
      /entry 0 \(nccl\/pscpu\): only 2 devices, but group_size=3/,
    ],
    [
      'more shards than GPUs',
      2,
      2,
      ['psgpu', 5],
      /only 4 devices, but group_size=5 \(the GPUs of all workers gather, 2 workers with 2 each\)/,
    ],
    ['GPUs that the workers do not have', 2, 0, 'psgpu', /only 0 devices, but group_size=1 .*raise numGpusPerWorker/],
    ['a ring of sub-chunks over NCCL', 2, 2, ['nccl/xring', 2], /entry 0 \(nccl\/xring\): .*use 1 shard/],
    ['halving across three workers', 3, 2, 'nccl/rechd', /entry 0 \(nccl\/rechd\): .*must be a power of two, got 3/],
  ])('refuses %s', (_, workers, gpus, allReduceSpec, message) => {
    const make = () => new MultiWorkerAllReduce(tasks(workers), gpus, { allReduceSpec } as MultiWorkerAllReduceOptions);
    expect(make).toThrow(ValueError);
    expect(make).toThrow(message);
  });

  it('accepts one worker for a specification whose second level is omitted', () => {
    for (const allReduceSpec of [
      ['nccl/xring', 3],
      ['pscpu/pscpu', 1],
    ] as const) {
      expect(() => new MultiWorkerAllReduce(tasks(1), 2, { allReduceSpec })).not.toThrow();
    }
  });

  it.each<[string, unknown, unknown, MultiWorkerAllReduceOptions, RegExp]>([
    ['no workers', [], 2, {}, /workerDevices must be a list of workers/],
    ['a worker twice', ['/job:a/task:0', '/job:a/task:0'], 2, {}, /contains "\/job:a\/task:0" twice/],
    ['a value that is not a worker', ['somewhere'], 2, {}, /Unknown attribute/],
    ['half a GPU', ['/job:a/task:0'], 0.5, {}, /numGpusPerWorker must be a whole number, 0 or more, got 0.5/],
    [
      'workers without a number of GPUs',
      ['/job:a/task:0'],
      undefined,
      {},
      /workerDevices and numGpusPerWorker together/,
    ],
    ['a number of GPUs without workers', undefined, 2, {}, /workerDevices and numGpusPerWorker together/],
    [
      'an unknown unit',
      ['/job:a/task:0'],
      2,
      { allReduceSpec: 'xring', limitUnit: 'bits' as never },
      /limitUnit must be 'elements' or 'bytes', got "bits"/,
    ],
    [
      'a negative number of packs',
      ['/job:a/task:0'],
      2,
      { allReduceSpec: 'xring', numPacks: -1 },
      /numPacks must be 0 or more/,
    ],
  ])('refuses %s', (_, workerDevices, numGpusPerWorker, options, message) => {
    const make = () => new MultiWorkerAllReduce(workerDevices as string[], numGpusPerWorker as number, options);
    expect(make).toThrow(ValueError);
    expect(make).toThrow(message);
  });
});

describe('batchReduce of MultiWorkerAllReduce', () => {
  const allReduceSpec = [
    ['pscpu', 1, 2],
    ['xring', 2, 5],
    ['pscpu/pscpu', 2, -1],
  ] as const;

  it('returns results in order, whichever entries of the specification the values use', async () => {
    const ops = new MultiWorkerAllReduce(tasks(2), 2, { allReduceSpec });
    const lengths = [9, 1, 4, 0, 7, 2, 5, 6];
    const values = lengths.map((length, index) => spread(devicesOf(2, 2), new Array(length).fill(index + 1)));
    const results = await ops.batchReduce(
      ReduceOp.SUM,
      values.map((value) => [value, value] as const),
    );
    results.forEach((result, index) => {
      expect(numbersOf(result)).toEqual(devicesOf(2, 2).map(() => new Array(lengths[index]).fill(10 * (index + 1))));
      expect((result as Mirrored<Tensor>).devices).toEqual(devicesOf(2, 2));
    });
  });

  it('divides a mean by the number of components of the value', async () => {
    const ops = new MultiWorkerAllReduce(tasks(2), 2, { allReduceSpec });
    const value = spread(devicesOf(2, 1, 'CPU'), [1, 2]);
    expect(numbersOf(await ops.reduce(ReduceOp.MEAN, value, value))).toEqual([
      [1.5, 3],
      [1.5, 3],
    ]);
  });

  it('logs the specification and the packing of the first ten batches', async () => {
    const messages: string[] = [];
    setLogSink((level, message) => message.startsWith('distributed') && messages.push(`${level}: ${message}`));
    const ops = new MultiWorkerAllReduce(tasks(2), 2, { allReduceSpec, aggSmallGradsMaxBytes: 8 });
    const value = spread(devicesOf(2, 2), [1]);
    for (let call = 0; call < 12; call++)
      await ops.batchReduce(ReduceOp.SUM, [
        [value, value],
        [value, value],
      ]);
    expect(messages).toHaveLength(10);
    expect(messages[0]).toBe(
      'info: distributed batch all-reduce of 2 values by pscpu:2:xring#2:5:pscpu/pscpu#2, numPacks 0, aggSmallGradsMaxBytes 8, aggSmallGradsMaxGroup 10',
    );
  });

  it('does not apply the specification to sparse values', async () => {
    const { IndexedSlices } = await import('@coll/core');
    setLogSink(() => {});
    const ops = new MultiWorkerAllReduce(tasks(2), 1);
    const devices = devicesOf(2, 1);
    const slices = new PerReplica(
      devices.map(
        (device, rank) => new IndexedSlices(tensor([rank], { device }), tensor(Int32Array.of(rank), { device })),
      ),
    );
    const dense = spread(devices, [1]);
    const [first, second] = await ops.batchReduce(ReduceOp.SUM, [
      [slices, slices],
      [dense, dense],
    ]);
    expect((first as Mirrored<InstanceType<typeof IndexedSlices>>).primary.indices.data).toEqual(Int32Array.of(0, 1));
    expect(numbersOf(second)).toEqual([[3], [3]]);
  });
});

describe('the size limits of an all-reduce specification', () => {
  // A ring of 4 devices refuses a value with 2 components, so an error shows that the value used the entry `xring`.
  const takenBy = async (length: number, limitUnit?: 'elements' | 'bytes') => {
    const ops = new MultiWorkerAllReduce(tasks(2), 2, { allReduceSpec: [['pscpu', 1, 8], ['xring']], limitUnit });
    const value = spread(devicesOf(2, 1), new Array(length).fill(1));
    const outcome = await ops.reduce(ReduceOp.SUM, value, value).catch((error: unknown) => error);
    return outcome instanceof ValueError ? 'xring' : 'pscpu';
  };

  it('are inclusive and count elements', async () => {
    expect(await Promise.all([0, 1, 8, 9].map((length) => takenBy(length)))).toEqual([
      'pscpu',
      'pscpu',
      'pscpu',
      'xring',
    ]);
  });

  it("count bytes with limitUnit: 'bytes'", async () => {
    expect(await Promise.all([0, 2, 3].map((length) => takenBy(length, 'bytes')))).toEqual(['pscpu', 'pscpu', 'xring']);
  });
});

describe('the components of a value', () => {
  it('are refused if their number differs from the number of devices in the ring', async () => {
    const ops = new MultiWorkerAllReduce(tasks(2), 2, { allReduceSpec: 'xring' });
    const value = spread(devicesOf(2, 1), [1]);
    await expect(ops.reduce(ReduceOp.SUM, value, value)).rejects.toMatchObject({
      name: 'ValueError',
      message:
        'allReduceSpec entry 0 (xring): xring connects 2 devices in each of 2 workers, but the value has 2 components: it must have one on each of these devices',
    });
  });

  it('are refused if they cannot be divided evenly across the workers', async () => {
    for (const allReduceSpec of ['pscpu', 'psgpu', 'pscpu/pscpu', 'nccl/xring']) {
      const ops = new MultiWorkerAllReduce(tasks(2), 2, { allReduceSpec });
      const value = spread(devicesOf(1, 3), [1]);
      await expect(ops.reduce(ReduceOp.SUM, value, value)).rejects.toThrow(
        `allReduceSpec entry 0 (${allReduceSpec}): 3 components cannot be divided evenly across 2 workers`,
      );
    }
  });

  it('are refused if they are on several workers and workerDevices was not passed', async () => {
    const ops = new MultiWorkerAllReduce();
    const value = spread(devicesOf(2, 1), [1]);
    await expect(ops.reduce(ReduceOp.SUM, value, value)).rejects.toThrow(
      /are devices of several workers: pass workerDevices/,
    );
    const local = spread(['cpu:0', 'cpu:1', 'cpu:2'], [1]);
    expect(numbersOf(await ops.reduce(ReduceOp.SUM, local, local))).toEqual([[6], [6], [6]]);
  });
});

describe('the world of a MultiWorkerAllReduce', () => {
  it('determines the workers by its devices', async () => {
    const allReduceSpec = ['xring', 2] as const;
    const ops = new MultiWorkerAllReduce(undefined, undefined, { allReduceSpec }, portableWorld(devicesOf(3, 2)));
    const sums = await Promise.all(
      devicesOf(3, 2).map((_, rank) => ops.allReduce(ReduceOp.SUM, Int8Array.of(rank), rank)),
    );
    expect((sums as Tensor[]).map(({ data }) => data[0])).toEqual(new Array(6).fill(15));
    expect(
      () =>
        new MultiWorkerAllReduce(undefined, undefined, { allReduceSpec: ['xring', 3] }, portableWorld(devicesOf(3, 2))),
    ).toThrow(/3 sub-chunks/);
  });

  it('must have its devices grouped by worker, with the same number on each', () => {
    const [a, b, c, d] = devicesOf(2, 2) as [string, string, string, string];
    const make = (devices: readonly string[]) =>
      new MultiWorkerAllReduce(undefined, undefined, {}, portableWorld(devices));
    expect(() => make([a, c, b, d])).toThrow(/devices must be grouped by worker/);
    expect(() => make([a, b, c])).toThrow(/one has 2 and another 1/);
  });
});

describe('explain of MultiWorkerAllReduce', () => {
  it('reports that other devices gather instead of devices without a component', async () => {
    const messages: string[] = [];
    setLogSink((_, message) => messages.push(message));
    const gpus = new MultiWorkerAllReduce(tasks(2), 1, { allReduceSpec: 'psgpu:1:pscpu/pscpu' });
    const values = [[1], [1, 2]].map((elements) => spread(devicesOf(2, 1, 'CPU'), elements));
    for (let call = 0; call < 2; call++)
      await gpus.batchReduce(
        ReduceOp.SUM,
        values.map((value) => [value, value] as const),
      );
    const note =
      'psgpu gathers on the GPUs of all workers, which hold no component, so other devices of the same workers do it instead';
    expect(gpus.explain().notes).toEqual([note]);
    expect(messages.filter((message) => message.includes(note))).toEqual([`multi-worker: ${note}`]);

    const cpus = new MultiWorkerAllReduce(tasks(2), 1);
    const value = spread(devicesOf(2, 1), [1]);
    await cpus.reduce(ReduceOp.SUM, value, value);
    expect(cpus.explain().notes).toEqual([
      'pscpu/pscpu gathers on the CPU of each worker, which holds no component, so that the first of its devices does it instead',
    ]);
  });
});

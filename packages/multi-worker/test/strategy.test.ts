import { type Tensor, toNumbers } from '@coll/core';
import { MultiWorkerAllReduce, type MultiWorkerOptions, multiWorker } from '@coll/multi-worker';
import { MirroredStrategy } from '@coll/strategy';
import { describe, expect, it } from 'vitest';

interface Sums {
  readonly blocking: readonly Tensor[];
  readonly waiting: readonly Tensor[];
  readonly gathered: Tensor;
}

const module = new URL('./fixtures/sums.ts', import.meta.url);
const devices = ['cpu:0', 'cpu:1', 'cpu:2', 'cpu:3'];
const workers = { workerDevices: ['/job:a/task:0', '/job:a/task:1'], numGpusPerWorker: 2 };

const specs: readonly MultiWorkerOptions[] = [
  {},
  { ...workers, allReduceSpec: 'pscpu:1:psgpu#3:5:xring:7:pscpu/pscpu#2' },
];

describe('replicas in worker threads', () => {
  it.each(specs)('reduce with the specification %o', async (options) => {
    await using strategy = new MirroredStrategy({ devices, crossDeviceOps: { name: multiWorker, options } });
    const lengths = [7, 1, 5, 0, 100, 6];
    const results = strategy.experimentalLocalResults(
      await strategy.run(module, { args: [lengths], exportName: 'sums' }),
    ) as readonly Sums[];
    expect(results).toHaveLength(4);
    for (const { blocking, waiting, gathered } of results) {
      expect(blocking.map(toNumbers)).toEqual(lengths.map((length, index) => new Array(length).fill(10 * (index + 1))));
      expect(waiting.map(toNumbers)).toEqual(lengths.map((length, index) => new Array(length).fill(2.5 * (index + 1))));
      expect(toNumbers(gathered)).toEqual([0, 1, 2, 3]);
    }
  });

  it('cannot use NCCL, and get an error that names the alternatives', async () => {
    const options = { ...workers, allReduceSpec: 'nccl/xring:5:xring' };
    await using strategy = new MirroredStrategy({ devices, crossDeviceOps: { name: multiWorker, options } });
    await expect(strategy.run(module, { args: [[3]], exportName: 'sums' })).rejects.toMatchObject({
      name: 'ValueError',
      message: expect.stringMatching(/nccl\/xring needs the values of all replicas in one thread.*use xring/),
    });
  });
});

describe('replicas in one thread', () => {
  it('may use devices of several tasks', async () => {
    const tasks = ['/job:worker/task:0', '/job:worker/task:1'];
    const names = tasks.map((task) => `${task}/cpu:0`);
    const crossDeviceOps = new MultiWorkerAllReduce(tasks, 1);
    await using strategy = new MirroredStrategy({ devices: names, crossDeviceOps });
    const sums = await strategy.run(async (replica) =>
      replica.allReduce('sum', Int16Array.of(replica.replicaIdInSyncGroup + 1)),
    );
    expect((strategy.experimentalLocalResults(sums) as readonly Tensor[]).map(toNumbers)).toEqual([[3], [3]]);
  });
});

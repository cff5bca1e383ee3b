import { type Mirrored, PerReplica, ReduceOp, registry, type Tensor, tensor } from '@coll/core';
import { MultiWorkerAllReduce } from '@coll/multi-worker';
import { beforeEach, describe, expect, it } from 'vitest';
import { ncclDouble, reducedBy } from './nccl-double.ts';

const workers = ['/job:worker/task:0', '/job:worker/task:1'];
const devices = workers.flatMap((worker) => [0, 1].map((gpu) => `${worker}/device:GPU:${gpu}`));
const spread = (...elements: readonly number[]) =>
  new PerReplica(
    devices.map((device, rank) =>
      tensor(
        elements.map((element) => element * (rank + 1)),
        { dtype: 'float32', device },
      ),
    ),
  );
const numbersOf = (result: unknown) => (result as Mirrored<Tensor>).values.map(({ data }) => [...data]);

beforeEach(() => {
  reducedBy.length = 0;
});

describe('a specification that names NCCL', () => {
  it('reports what to install when an entry first needs it, and works once it is installed', async () => {
    const allReduceSpec = [
      ['nccl/xring', 1, 1],
      ['pscpu/pscpu', 2, -1],
    ] as const;
    await using ops = new MultiWorkerAllReduce(workers, 2, { allReduceSpec });
    const [small, large] = [spread(1), spread(1, 2)];
    expect(numbersOf(await ops.reduce(ReduceOp.SUM, large, large))).toEqual(devices.map(() => [10, 20]));
    await expect(ops.reduce(ReduceOp.SUM, small, small)).rejects.toMatchObject({
      code: 'ERR_COLL_UNKNOWN_PLUGIN',
      message: expect.stringMatching(/npm install @coll\/nccl, then import '@coll\/nccl\/register'/),
    });
    registry.register(ncclDouble);
    expect(numbersOf(await ops.reduce(ReduceOp.SUM, small, small))).toEqual(devices.map(() => [10]));
  });

  it('reduces everything with NCCL if it is the only algorithm, whatever the number of components', async () => {
    registry.register(ncclDouble);
    await using ops = new MultiWorkerAllReduce(workers, 2, { allReduceSpec: 'nccl' });
    const value = new PerReplica(spread(1, 2).values.slice(0, 3));
    expect(numbersOf(await ops.reduce(ReduceOp.MEAN, value, value))).toEqual([0, 1, 2].map(() => [2, 4]));
    expect(reducedBy).toEqual([devices.slice(0, 3)]);
    expect(ops.explain().notes).toEqual(['a double adds up']);
  });

  it.each(['nccl/xring', 'nccl/rechd', 'nccl/pscpu'])(
    'reduces with NCCL within each worker for allReduceSpec %s',
    async (allReduceSpec) => {
      registry.register(ncclDouble);
      await using ops = new MultiWorkerAllReduce(workers, 2, { allReduceSpec });
      const values = [spread(1), spread(2, 3)];
      const results = await ops.batchReduce(
        ReduceOp.MEAN,
        values.map((value) => [value, value] as const),
      );
      expect(results.map(numbersOf)).toEqual([devices.map(() => [2.5]), devices.map(() => [5, 7.5])]);
      expect(reducedBy.map((among) => among.length)).toEqual([2, 2, 2, 2]);
      expect(new Set(reducedBy.flat())).toEqual(new Set(devices));
    },
  );

  it('reduces packed values, and returns one memory shared by all devices with sharedResult', async () => {
    registry.register(ncclDouble);
    await using ops = new MultiWorkerAllReduce(workers, 2, { allReduceSpec: 'nccl/pscpu', numPacks: 1 });
    const values = [spread(1), spread(2, 3), spread()];
    const pairs = values.map((value) => [value, value] as const);
    const shared = await ops.batchReduce(ReduceOp.SUM, pairs, { sharedResult: true });
    expect(shared.map(numbersOf)).toEqual([[10], [20, 30], []].map((sum) => devices.map(() => sum)));
    expect(new Set((shared[1] as Mirrored<Tensor>).values.map(({ data }) => data.buffer)).size).toBe(1);
    expect(reducedBy).toHaveLength(2);
  });

  it('returns a mean of integers as floats', async () => {
    registry.register(ncclDouble);
    await using ops = new MultiWorkerAllReduce(workers, 2, { allReduceSpec: 'nccl/xring' });
    const value = new PerReplica(devices.map((device, rank) => tensor(Int32Array.of(rank, 7), { device })));
    const { primary } = (await ops.reduce(ReduceOp.MEAN, value, value)) as Mirrored<Tensor>;
    expect([primary.dtype, ...primary.data]).toEqual(['float64', 1.5, 7]);
  });
});

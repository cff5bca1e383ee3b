import { type Mirrored, PerReplica, ReduceOp, registry, type Tensor, tensor } from '@coll/core';
import { bufferOf, type DeviceBuffer, type Gpu, gpus, NcclCommunicator, nccl, toHost } from '@coll/nccl';
import '@coll/nccl/register';
import { MultiWorkerAllReduce } from '@coll/multi-worker';
import { MirroredStrategy, selectPlugin } from '@coll/strategy';
import { describe, expect, it } from 'vitest';
import { fourGpus } from './doubles.ts';

const workers = ['/job:worker/task:0', '/job:worker/task:1'];

describe('NCCL through other APIs', () => {
  it("is chosen for GPUs by 'auto' and by the selection rules of TensorFlow", async () => {
    expect(await registry.explain('auto', { devices: fourGpus })).toMatchObject({ chosen: 'nccl' });
    expect((await selectPlugin(fourGpus)).plugin).toBe(nccl);
    expect((await registry.explain('auto', { devices: ['gpu:4'] })).candidates[0]?.refused).toMatch(
      /^gpu:4 does not exist: this process has 4 GPUs$/,
    );
  });

  it.each(['nccl/xring', 'nccl/rechd', 'nccl/pscpu'])('reduces within workers for spec %s', async (allReduceSpec) => {
    const devices = workers.flatMap((worker) => [0, 1].map((gpu) => `${worker}/device:GPU:${gpu}`));
    await using ops = new MultiWorkerAllReduce(workers, 2, { allReduceSpec });
    const value = new PerReplica(devices.map((device, rank) => tensor(Float32Array.of(rank, 1), { device })));
    const sum = (await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    expect(sum.values.map(({ data }) => [...data])).toEqual(devices.map(() => [6, 4]));
  });

  it.each([
    ['nccl', workers.slice(0, 1)],
    ['nccl/xring', workers.slice(0, 1)],
    ['nccl', undefined],
  ] as const)('reduces values in GPU memory for spec %s', async (allReduceSpec, named) => {
    await using ops = new MultiWorkerAllReduce(named, named && 2, { allReduceSpec });
    const onGpus = async () =>
      new PerReplica(
        await Promise.all([0, 1].map((gpu) => (gpus()[gpu] as Gpu).upload(Float32Array.of(gpu, 1), 'float32'))),
      );
    const onHost = new PerReplica([0, 1].map((gpu) => tensor(Float32Array.of(gpu), { device: `gpu:${gpu}` })));
    const [value, into] = [await onGpus(), await onGpus()];
    const numbers = (result: unknown) =>
      Promise.all((result as Mirrored<Tensor>).values.map(async (item) => [...(await toHost(item)).data]));
    const results = await ops.batchReduce(
      ReduceOp.SUM,
      [value, onHost, value].map((each) => [each, each] as const),
      {
        into: [
          into,
          new PerReplica([0, 1].map((gpu) => tensor(new Float32Array(1), { device: `gpu:${gpu}` }))),
          await onGpus(),
        ],
      },
    );
    const sums = [[1, 2], [1], [1, 2]];
    expect(await Promise.all(results.map(numbers))).toEqual(sums.map((sum) => [sum, sum]));
    expect((results[0] as Mirrored<Tensor>).values.map(bufferOf)).toEqual(into.values);
    const gathered = [0, 1, 1, 1];
    expect(await numbers(await ops.gather(value, value, 0))).toEqual([gathered, gathered]);
    const copies = [
      [1, 1],
      [1, 1],
    ];
    expect(await numbers(await ops.broadcast(value.values[1] as DeviceBuffer, value))).toEqual(copies);
    expect(await numbers(await ops.reduce(ReduceOp.MEAN, value, value))).toEqual([
      [0.5, 1],
      [0.5, 1],
    ]);
  });

  it.each(['nccl/xring', 'xring'])('refuses GPU memory for spec %s across workers', async (allReduceSpec) => {
    const devices = workers.map((worker) => `${worker}/device:GPU:0`);
    await using ops = new MultiWorkerAllReduce(workers, 1, { allReduceSpec });
    const buffers = await Promise.all(
      [0, 1].map((gpu) => (gpus()[gpu] as Gpu).upload(Float32Array.of(gpu), 'float32')),
    );
    const value = new PerReplica(buffers.map((buffer) => buffer.tensor()));
    for (const call of [ops.reduce(ReduceOp.SUM, value, value), ops.gather(value, devices, 0)]) {
      await expect(call).rejects.toMatchObject({
        code: 'ERR_COLL_DEVICE',
        message: expect.stringMatching(/runs on the host, but a value is in the memory of gpu:0: specify 'nccl', use/),
      });
    }
  });

  it('reports which algorithm is used instead for a dtype that NCCL cannot reduce', async () => {
    const devices = workers.flatMap((worker) => [0, 1].map((gpu) => `${worker}/device:GPU:${gpu}`));
    await using ops = new MultiWorkerAllReduce(workers, 2, { allReduceSpec: 'nccl/xring' });
    const value = new PerReplica(devices.map((device) => tensor(Int16Array.of(1), { device })));
    const sum = (await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    expect(sum.values.map(({ data }) => [...data])).toEqual(devices.map(() => [4]));
    const note = 'NCCL cannot reduce int16, only copy it; reduction-to-one is used instead';
    expect(ops.explain().notes).toEqual([note]);
  });

  it('reduces the values that replicas of a strategy have on their GPUs', async () => {
    await using strategy = new MirroredStrategy({ devices: fourGpus, crossDeviceOps: 'nccl' });
    const all = gpus();
    const means = (await strategy.run(async (replica) => {
      const id = replica.replicaIdInSyncGroup;
      const gradient = await (all[id] as (typeof all)[number]).upload(Float32Array.of(id, 2), 'float32');
      return replica.allReduce('mean', { gradient, onHost: Int32Array.of(id) });
    })) as { gradient: PerReplica<Tensor>; onHost: PerReplica<Tensor> };
    const gradients = await Promise.all(means.gradient.values.map((mean) => toHost(mean)));
    expect(gradients.map(({ data }) => [...data])).toEqual(fourGpus.map(() => [1.5, 2]));
    expect(means.gradient.values.map((mean) => bufferOf(mean).device)).toEqual(fourGpus);
    expect(means.onHost.values.map(({ data }) => [...data])).toEqual(fourGpus.map(() => [1.5]));
  });

  it('supports splitting a group', async () => {
    await using all = await NcclCommunicator.open(fourGpus);
    const halves = await all.split([0, 1, 0, 1], [3, 2, 1, 0]);
    expect(halves.map(({ color, communicator }) => [color, communicator.size, communicator.devices])).toEqual([
      [0, 2, ['gpu:0', 'gpu:2']],
      [1, 2, ['gpu:1', 'gpu:3']],
    ]);
    const sums = await Promise.all(
      halves.map(async ({ communicator }) => {
        const inputs = communicator.devices.map((device) => tensor(Float32Array.of(Number(device.at(-1)))));
        const outputs = inputs.map(() => tensor(new Float32Array(2)));
        await communicator.run({ kind: 'all-gather' }, inputs, outputs);
        await communicator.close();
        return outputs.map(({ data }) => [...data]);
      }),
    );
    // The keys turn the order of the ranks around.
    expect(sums).toEqual([
      [
        [2, 0],
        [2, 0],
      ],
      [
        [3, 1],
        [3, 1],
      ],
    ]);
    await expect(all.split([0])).rejects.toMatchObject({ code: 'ERR_COLL_VALUE' });
    await expect(all.split([0, 0.5, 1, 1])).rejects.toMatchObject({ code: 'ERR_COLL_VALUE' });
    await expect(all.split([0, 0, 1, 1], [0, 1, 2, Number.NaN])).rejects.toMatchObject({ code: 'ERR_COLL_VALUE' });
    const [, alone] = await all.split([-1, 0, 1, 1]);
    expect(alone?.communicator.size).toBe(2);
  });

  it('supports splitting a group into groups that share its resources', async () => {
    await using all = await NcclCommunicator.open(fourGpus, { name: 'whole' });
    const halves = await all.split([0, 0, 1, 1], undefined, { share: true });
    const sum = { kind: 'all-reduce', op: 'sum' } as const;
    const addUp = async (communicator: NcclCommunicator) => {
      const values = communicator.localRanks.map(() => tensor(Float32Array.of(1)));
      await communicator.run(sum, values, values);
      return values.map(({ data }) => data[0]);
    };
    expect(await Promise.all(halves.map(({ communicator }) => addUp(communicator)))).toEqual([
      [2, 2],
      [2, 2],
    ]);
  });
});

import { NotImplementedError, PerReplica, tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { MirroredStrategy, shardForReplica } from '../index.js';

const three = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1', 'cpu:2'] });

const batches = [8, 8, 5].map((size, index) => ({
  x: tensor(new Float32Array(2 * size).fill(index), { shape: [size, 2] }),
  labels: Int32Array.from({ length: size }, (_, item) => 10 * index + item),
}));

describe('shardForReplica', () => {
  it('yields the component that a single controller would pass to the replica, step by step', async () => {
    const whole: { x: PerReplica; labels: PerReplica }[] = [];
    for await (const step of three.experimentalDistributeDataset(batches)) whole.push(step);
    const shards = three.experimentalLocalResults(
      await three.run(async (replica) => {
        const steps: unknown[] = [];
        for await (const step of shardForReplica(batches, replica)) steps.push(step);
        return steps;
      }),
    );
    expect(shards).toEqual(
      [0, 1, 2].map((replica) =>
        whole.map(({ x, labels }) => ({ x: x.values[replica], labels: labels.values[replica] })),
      ),
    );
  });

  it("yields a replica's own files of a dataset of files", async () => {
    const files = ['a', 'b', 'c', 'd'];
    const read = (some: readonly string[]) => some.map((file) => [file, file, file]);
    const shards = await three.run(async (replica) => {
      const items: string[] = [];
      for await (const part of shardForReplica<string[]>({ files, read }, replica)) items.push(...part);
      return items.join('');
    });
    expect(three.experimentalLocalResults(shards)).toEqual(['aaaddd', 'bbb', 'ccc']);
  });

  it('refuses one generator for all replicas', async () => {
    const generator = batches.values();
    const run = three.run(async (replica) => {
      for await (const _ of shardForReplica(generator, replica));
    });
    await expect(run).rejects.toThrow(/pass a function/);
  });

  it('throws in every epoch in which replicas read different first batches, as after an unseeded shuffle', async () => {
    const readEpochs = (batchesOf: (replica: number, epoch: number) => unknown[], epochs: number) =>
      three.run(async (replica) => {
        let [epoch, read] = [0, 0];
        const shard = shardForReplica(() => batchesOf(replica.replicaIdInSyncGroup, epoch) as never, replica);
        for (; epoch < epochs; epoch++) for await (const _ of shard) read++;
        return read;
      });
    const alike = (_: number, epoch: number) => [{ x: Float32Array.of(epoch, 1, 2), y: ['a', 'b', `${epoch}`] }];
    expect(await readEpochs(alike, 2)).toEqual(new PerReplica([2, 2, 2]));
    const unseeded = {
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      operation: 'input',
      message: expect.stringMatching(/replicas read different first batches.*shuffle\(1000, seed\)/),
    };
    const odd = (replica: number) => [Int32Array.of(0, 1, 2), Int32Array.of(0, 1, replica === 2 ? 3 : 2)];
    await expect(readEpochs((replica) => [odd(replica)[1]], 1)).rejects.toMatchObject(unseeded);
    await expect(
      readEpochs((replica, epoch) => [['same', 'same', epoch === 1 && replica === 1 ? 'other' : 'same']], 2),
    ).rejects.toMatchObject(unseeded);
    await expect(readEpochs((replica) => (replica === 0 ? [] : [[1, 2, 3]]), 1)).rejects.toMatchObject(unseeded);
    // Only the first batch of an epoch is compared.
    expect(await readEpochs(odd, 1)).toEqual(new PerReplica([2, 2, 2]));
  });

  it("refuses a context that is not a replica's, and the replication mode PER_REPLICA", () => {
    const devices: readonly [string] = ['cpu:0'];
    const context = { replicaIdInSyncGroup: 0, numReplicasInSync: 2, devices };
    for (const odd of [
      null,
      undefined,
      {},
      { ...context, devices: 'cpu:0' },
      { ...context, numReplicasInSync: '2' },
      { ...context, replicaIdInSyncGroup: 0.5 },
    ])
      expect(() => shardForReplica([[1]], odd as never)).toThrow(
        expect.objectContaining({
          code: 'ERR_COLL_VALUE',
          message: expect.stringContaining('shardForReplica: context must be the context of a replica, got'),
        }),
      );
    expect(() => shardForReplica([[1]], context, { experimentalReplicationMode: 'PER_REPLICA' })).toThrow(
      NotImplementedError,
    );
  });
});

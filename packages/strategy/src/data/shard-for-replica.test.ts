import { NotImplementedError, type PerReplica, tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { MirroredStrategy, shardForReplica } from '../index.js';

const three = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1', 'cpu:2'] });

const batches = [8, 8, 5].map((size, index) => ({
  x: tensor(new Float32Array(2 * size).fill(index), { shape: [size, 2] }),
  labels: Int32Array.from({ length: size }, (_, item) => 10 * index + item),
}));

describe('the shard of a replica', () => {
  it('is the component that the controller would hand it, step by step', async () => {
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

  it('of a dataset of files is files of its own', async () => {
    const files = ['a', 'b', 'c', 'd'];
    const read = (some: readonly string[]) => some.map((file) => [file, file, file]);
    const shards = await three.run(async (replica) => {
      const items: string[] = [];
      for await (const part of shardForReplica<string[]>({ files, read }, replica)) items.push(...part);
      return items.join('');
    });
    expect(three.experimentalLocalResults(shards)).toEqual(['aaaddd', 'bbb', 'ccc']);
  });

  it('is refused of one generator for all replicas', async () => {
    const generator = batches.values();
    const run = three.run(async (replica) => {
      for await (const _ of shardForReplica(generator, replica));
    });
    await expect(run).rejects.toThrow(/hand in a function/);
  });

  it('has no replication mode', () => {
    const devices: readonly [string] = ['cpu:0'];
    const context = { replicaIdInSyncGroup: 0, numReplicasInSync: 2, devices };
    expect(() => shardForReplica([[1]], context, { experimentalReplicationMode: 'PER_REPLICA' })).toThrow(
      NotImplementedError,
    );
  });
});

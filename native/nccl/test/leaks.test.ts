import { PerReplica, ReduceOp, tensor } from '@coll/core';
import { counts, gpus, NcclAllReduce, NcclCommunicator } from '@coll/nccl';
import { describe, expect, it } from 'vitest';
import { fourGpus } from './doubles.ts';

const sum = { kind: 'all-reduce', op: 'sum' } as const;
const twoGpus = fourGpus.slice(0, 2);
const held = () => {
  const { buffers, bufferBytes, communicators, unsettled } = counts();
  return { buffers, bufferBytes, communicators, unsettled };
};

describe('GPU memory and handles', () => {
  it('are all released after opening and closing a thousand groups', async () => {
    const values = twoGpus.map((_, rank) => tensor(Float32Array.of(rank)));
    const before = held();
    for (let round = 0; round < 1000; round++) {
      await using communicator = await NcclCommunicator.open(twoGpus);
      await communicator.run(sum, values, values);
    }
    await expect.poll(held).toEqual(before);
  });

  it('are all released after ten thousand collectives', async () => {
    const before = held();
    const buffers = gpus()
      .slice(0, 2)
      .map((gpu) => gpu.alloc('float32', 16));
    await Promise.all(buffers.map((buffer) => buffer.fill(0)));
    const values = buffers.map((buffer) => buffer.tensor());
    const communicator = await NcclCommunicator.open(twoGpus);
    for (let round = 0; round < 100; round++) {
      const calls = Array.from({ length: 100 }, () => communicator.run(sum, values, values));
      await Promise.all(calls);
    }
    await communicator.close();
    for (const buffer of buffers) buffer.dispose();
    await expect.poll(held).toEqual(before);
  });

  it('are all released after closing ops that reduced values on the host', async () => {
    const before = held();
    const value = new PerReplica(twoGpus.map((device) => tensor(new Float32Array(3 * 2 ** 20), { device })));
    for (let round = 0; round < 3; round++) {
      await using ops = new NcclAllReduce();
      await ops.reduce(ReduceOp.MEAN, value, value);
      await ops.reduce(ReduceOp.MEAN, value, value);
    }
    await expect.poll(held).toEqual(before);
  });
});

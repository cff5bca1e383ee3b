import { PerReplica, ReduceOp, tensor, type World } from '@coll/core';
import { NcclAllReduce } from '@coll/nccl';
import { describe, expect, it } from 'vitest';
import './doubles.ts';

const own = ['/task:1/device:GPU:0', '/task:1/device:GPU:1'];
const value = (...devices: readonly string[]) =>
  new PerReplica(devices.map((device) => tensor(Float32Array.of(1), { device })));

/** The second of two processes with two GPUs each. It executes nothing. */
const world: World = {
  devices: ['/task:0/device:GPU:0', '/task:0/device:GPU:1', ...own],
  localRanks: [2, 3],
  engine: 'js',
  communicator() {
    throw new Error('nothing must be executed');
  },
};

describe('NcclAllReduce across processes', () => {
  it('throws, because it can reduce only the values of its own process', async () => {
    await using ops = new NcclAllReduce({}, world);
    const refused = { code: 'ERR_COLL_NOT_IMPLEMENTED', message: /use CollectiveAllReduce of @coll\/multi-worker/ };
    await expect(ops.reduce(ReduceOp.SUM, value(...own), 'cpu:0')).rejects.toMatchObject(refused);
    await expect(ops.gather(value(...own), 'cpu:0', 0)).rejects.toMatchObject(refused);
  });

  it('requires one component on each GPU of this process', async () => {
    await using ops = new NcclAllReduce({}, world);
    const odd = value(own[0] as string);
    await expect(ops.reduce(ReduceOp.SUM, odd, odd)).rejects.toMatchObject({
      code: 'ERR_COLL_VALUE',
      message: /has 1$/,
    });
  });
});

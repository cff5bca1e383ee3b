import { IndexedSlices, type Tensor, toNumbers } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { MirroredStrategy, type ReplicaContext } from '../index.js';

const one = new MirroredStrategy({ devices: ['cpu:0'] });
const two = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });

describe('synchronous calls', () => {
  it('are available to a single replica but not to two in one thread, as canBlock reports', async () => {
    expect(await two.run(({ canBlock }) => canBlock)).toBe(false);
    expect(await one.run(({ canBlock }) => canBlock)).toBe(true);
  });

  it('work for a replica that is alone in its thread', async () => {
    const own = Float32Array.of(1, 2);
    const results = await one.run((replica) => [
      replica.allReduceSync('mean', { own, count: 3 }),
      replica.broadcastSync([own]),
      replica.allGatherSync([own], 0),
    ]);
    type Results = [{ own: Tensor; count: Tensor }, [Tensor], [Tensor]];
    const [{ own: mean, count }, [copy], [gathered]] = results as unknown as Results;
    expect([mean, count, copy, gathered].map(({ data }) => data)).toEqual([own, Float64Array.of(3), own, own]);
    expect([mean, copy, gathered].some(({ data }) => data.buffer === own.buffer)).toBe(false);
    await expect(one.run((replica) => replica.broadcastSync(1, 1))).rejects.toMatchObject({
      code: 'ERR_COLL_REFUSED',
    });
  });

  it('keep the dtype of integer slices, except for the mean', async () => {
    const slices = new IndexedSlices(Int32Array.of(5), Int32Array.of(0));
    const dtypes = one.run((replica) =>
      (['sum', 'mean'] as const).map((op) => replica.allReduceSync(op, slices).values.dtype),
    );
    expect(await dtypes).toEqual(['int32', 'float64']);
  });

  it('are refused while an earlier call is running', async () => {
    const running = one.run(async (replica) => {
      const first = replica.allReduce('sum', 1);
      expect(() => replica.allReduceSync('sum', 1)).toThrow(expect.objectContaining({ code: 'ERR_COLL_BUSY' }));
      await first;
      return replica.allReduceSync('sum', 2);
    });
    expect(toNumbers((await running) as unknown as Tensor)).toEqual([2]);
  });

  it('are refused while promised values of an earlier call have not arrived', async () => {
    const running = one.run(async (replica) => {
      const [first] = replica.allReduce('sum', [Promise.resolve(1)]);
      expect(() => replica.allReduceSync('sum', 1)).toThrow(expect.objectContaining({ code: 'ERR_COLL_BUSY' }));
      await first;
      return replica.allReduceSync('sum', 2);
    });
    expect(toNumbers((await running) as unknown as Tensor)).toEqual([2]);
  });

  it('are refused for two replicas in one thread, with a message that names the alternatives', async () => {
    for (const call of [
      (replica: ReplicaContext) => replica.allReduceSync('sum', 1),
      (replica: ReplicaContext) => replica.allGatherSync(Float64Array.of(1), 0),
      (replica: ReplicaContext) => replica.broadcastSync(1),
    ])
      await expect(two.run(call)).rejects.toMatchObject({
        name: 'RuntimeError',
        code: 'ERR_COLL_CONTEXT',
        message: expect.stringMatching(
          /await (allReduce|allGather|broadcast)\(...\), or run the replicas in worker threads/,
        ),
      });
  });
});

import { PerReplica, tensor, ValueError } from '@coll/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batches, collect } from '../../test/batches.js';
import { strategyOf } from '../../test/strategies.js';
import { getStrategy, InputContext, type InputOptionsInit } from '../index.js';

const two = strategyOf(2);

/** The sizes of the parts in every step, given the sizes of the batches. */
async function sizesOf(replicas: number, sizes: readonly number[], options?: InputOptionsInit) {
  const steps = await collect(strategyOf(replicas).experimentalDistributeDataset(batches(...sizes), options));
  return steps.map(({ values }) => values.map(({ length }) => length));
}

describe('a distributed dataset', () => {
  it('passes each replica its slice of every batch', async () => {
    const dataset = two.experimentalDistributeDataset([Float32Array.of(1, 2, 3, 4), Float32Array.of(5, 6, 7, 8)]);
    expect(await collect(dataset)).toEqual([
      new PerReplica([Float32Array.of(1, 2), Float32Array.of(3, 4)]),
      new PerReplica([Float32Array.of(5, 6), Float32Array.of(7, 8)]),
    ]);
  });

  it('splits every batch of a structure, and assigns tensors to the devices of their replicas', async () => {
    const x = tensor(Float32Array.of(1, 2, 3, 4, 5, 6), { shape: [3, 2] });
    const [step] = await collect(
      two.experimentalDistributeDataset([{ x, meta: [['a', 'b', 'c'], Int8Array.of(7, 8, 9)] }]),
    );
    const devices = two.extended.workerDevices;
    expect(step).toEqual({
      x: new PerReplica([
        { data: Float32Array.of(1, 2, 3, 4), dtype: 'float32', shape: [2, 2], device: devices[0] },
        { data: Float32Array.of(5, 6), dtype: 'float32', shape: [1, 2], device: devices[1] },
      ]),
      meta: [new PerReplica([['a', 'b'], ['c']]), new PerReplica([Int8Array.of(7, 8), Int8Array.of(9)])],
    });
  });

  it('keeps the devices of tensors without experimentalFetchToDevice', async () => {
    const x = tensor(Float32Array.of(1, 2), { device: 'gpu:3' });
    const dataset = two.experimentalDistributeDataset([x], { experimentalFetchToDevice: false });
    const [step] = await collect(dataset);
    expect(step?.devices).toEqual(['gpu:3', 'gpu:3']);
  });

  it('has one component for a single replica', async () => {
    const steps = await collect(strategyOf(1).experimentalDistributeDataset(batches(3, 1)));
    expect(steps).toEqual([new PerReplica([[0, 1, 2]]), new PerReplica([[3]])]);
  });

  it.each([
    [
      'evenly if it is full',
      4,
      [10, 10],
      [
        [3, 3, 2, 2],
        [3, 3, 2, 2],
      ],
    ],
    [
      'until it is exhausted if it is a partial last batch',
      4,
      [10, 5],
      [
        [3, 3, 2, 2],
        [2, 2, 1, 0],
      ],
    ],
    ['with fewer items than replicas', 5, [4], [[1, 1, 1, 1, 0]]],
    [
      'without items',
      2,
      [4, 0],
      [
        [2, 2],
        [0, 0],
      ],
    ],
    [
      'by the size of the first batch if sizes change',
      3,
      [4, 7, 4],
      [
        [2, 1, 1],
        [3, 3, 1],
        [2, 1, 1],
      ],
    ],
  ])('splits the batch %s', async (_, replicas, sizes, parts) => {
    expect(await sizesOf(replicas, sizes)).toEqual(parts);
  });

  it('uses globalBatchSize to detect that the first batch is partial', async () => {
    expect(await sizesOf(3, [4])).toEqual([[2, 1, 1]]);
    expect(await sizesOf(3, [4], { globalBatchSize: 8 })).toEqual([[2, 2, 0]]);
  });

  it('yields every item in order, for any sizes', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 7 }), async (list, replicas) => {
        const steps = await collect(strategyOf(replicas).experimentalDistributeDataset(batches(...list)));
        for (const { values } of steps) expect(values).toHaveLength(replicas);
        expect(steps.map(({ values }) => values.flat())).toEqual(batches(...list));
      }),
      { numRuns: 60 },
    );
  });

  it('can be read repeatedly, and by two readers at once', async () => {
    const dataset = two.experimentalDistributeDataset(() => batches(2, 2).values());
    const [first, second] = await Promise.all([collect(dataset), collect(dataset)]);
    expect(first).toHaveLength(2);
    expect(second).toEqual(first);
    expect(await collect(dataset)).toEqual(first);
  });

  it('of a generator can be read only once', async () => {
    const dataset = two.experimentalDistributeDataset(batches(2, 2).values());
    expect(await collect(dataset)).toHaveLength(2);
    await expect(collect(dataset)).rejects.toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT' });
  });

  it('can be passed to run, which gives each replica its slice', async () => {
    const dataset = two.experimentalDistributeDataset([{ x: Float32Array.of(1, 2, 3) }]);
    for await (const step of dataset) {
      const sums = await two.run(
        async (replica, { x }: { x: Float32Array }) => [replica.replicaIdInSyncGroup, x.reduce((a, b) => a + b, 0)],
        { args: [step] },
      );
      expect(two.experimentalLocalResults(sums)).toEqual([
        [0, 3],
        [1, 3],
      ]);
    }
  });
});

describe('errors of a dataset', () => {
  it('are thrown in their step and end the iteration', async () => {
    async function* torn() {
      yield Float32Array.of(1, 2);
      throw new Error('torn');
    }
    const steps = two.experimentalDistributeDataset(torn)[Symbol.asyncIterator]();
    expect(await steps.next()).toMatchObject({ done: false });
    await expect(steps.next()).rejects.toThrow('torn');
    expect(await steps.next()).toEqual({ done: true, value: undefined });
  });

  it.each([
    ['a scalar', 3],
    ['a scalar tensor', { x: tensor(3) }],
    ['leaves of different sizes', { x: [1, 2], y: [1] }],
  ])('close the dataset if an element contains %s', async (_, element) => {
    let closed = false;
    function* elements() {
      try {
        yield [1, 2] as never;
        yield element as never;
      } finally {
        closed = true;
      }
    }
    const steps = two.experimentalDistributeDataset(elements)[Symbol.asyncIterator]();
    await steps.next();
    await expect(steps.next()).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
    expect(closed).toBe(true);
  });

  it('are thrown at once for invalid datasets and options', () => {
    for (const wrong of [3, 'abc', undefined, { x: [1] }])
      expect(() => two.experimentalDistributeDataset(wrong as never)).toThrow(
        expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
      );
    const perReplica = { experimentalReplicationMode: 'PER_REPLICA' } as const;
    expect(() => two.experimentalDistributeDataset([[1]], perReplica)).toThrow(
      expect.objectContaining({ name: 'NotImplementedError', code: 'ERR_COLL_NOT_IMPLEMENTED' }),
    );
    expect(() => two.experimentalDistributeDataset([[1]], { experimentalPerReplicaBufferSize: -1 })).toThrow(
      ValueError,
    );
  });

  it('include the error for a call inside a replica, which is refused', async () => {
    await expect(two.run(async () => void two.experimentalDistributeDataset([[1, 2]]))).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_CONTEXT',
    });
  });
});

describe('a loop over a distributed dataset', () => {
  it.each([0, 1, 4])(
    'closes the dataset when it is left early, with %i steps read ahead',
    async (experimentalPerReplicaBufferSize) => {
      let read = 0;
      let closed = 0;
      async function* endless() {
        try {
          for (;;) {
            read += 1;
            yield [1, 2];
          }
        } finally {
          closed += 1;
        }
      }
      const dataset = two.experimentalDistributeDataset(endless, { experimentalPerReplicaBufferSize });
      for await (const _ of dataset) break;
      expect(closed).toBe(1);
      expect(read).toBeLessThanOrEqual(1 + experimentalPerReplicaBufferSize);
    },
  );

  it('reads no batch ahead with a buffer of 0, so that a source may reuse its memory', async () => {
    const memory = new Int32Array(2);
    function* again() {
      for (let step = 1; step <= 3; step++) yield memory.fill(step);
    }
    const seen: number[] = [];
    const dataset = two.experimentalDistributeDataset(again, { experimentalPerReplicaBufferSize: 0 });
    for await (const { values } of dataset) {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(...values.map(([item]) => item as number));
    }
    expect(seen).toEqual([1, 1, 2, 2, 3, 3]);
  });
});

describe('datasets under the default strategy', () => {
  it('are returned unchanged', () => {
    const dataset = [[1, 2]];
    expect(getStrategy().experimentalDistributeDataset(dataset)).toBe(dataset);
    expect(getStrategy().distributeDatasetsFromFunction((context) => [dataset, context] as never)).toEqual([
      dataset,
      new InputContext(),
    ]);
  });
});

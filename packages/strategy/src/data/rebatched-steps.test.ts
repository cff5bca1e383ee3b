import type { PerReplica } from '@coll/core';
import { describe, expect, it, vi } from 'vitest';
import { batches, collect } from '../../test/batches.js';
import { deferred } from '../../test/deferred.js';
import { cpu } from '../../test/strategies.js';
import { DatasetReader } from './dataset-reader.js';
import { distributeDataset } from './distribute-dataset.js';
import { InputContext } from './input-context.js';
import type { InputOptionsInit } from './input-options.js';
import { Readers } from './readers.js';
import { RebatchedSteps } from './rebatched-steps.js';

describe('a dataset of several workers', () => {
  const workers = 3;
  const contexts = [0, 1, 2].map(
    (inputPipelineId) => new InputContext({ numInputPipelines: workers, inputPipelineId, numReplicasInSync: 6 }),
  );

  const stepsOf = (dataset: Parameters<typeof distributeDataset>[0], options?: InputOptionsInit) =>
    Promise.all(
      contexts.map(async (context) => {
        const steps = await collect(distributeDataset(dataset, context, cpu(2), options));
        return steps.map((step) => (step as PerReplica<number[]>).values);
      }),
    );

  it('yields every item to exactly one replica if sharded by data', async () => {
    expect(await stepsOf(batches(8, 4))).toEqual([
      [
        [
          [0, 1],
          [2, 3],
        ],
        [[8], [9]],
      ],
      [
        [[4], [5]],
        [[10], [11]],
      ],
      [
        [[6], [7]],
        [[], []],
      ],
    ]);
  });

  it('gives each worker its own files if sharded by file, in steps of the global batch size together', async () => {
    const files = [0, 100, 200, 300];
    const read = (some: readonly number[]) =>
      some.map((first) => Array.from({ length: 7 }, (_, index) => first + index));
    const steps = await stepsOf({ files, read });
    expect(steps[0]?.map((step) => step.map(({ length }) => length))).toEqual([
      [2, 1],
      [1, 1],
      [1, 1],
      [2, 1],
      [1, 1],
      [1, 1],
    ]);
    expect(steps.map((of) => of.flat(2))).toEqual([read([0, 300]).flat(), read([100]).flat(), read([200]).flat()]);
    for (const step of [0, 1, 2]) expect(steps.flatMap((of) => of[step]?.flat()).length).toBe(7);
  });

  it('gives every worker all items if not sharded', async () => {
    const steps = await stepsOf(batches(6), { autoShardPolicy: 'OFF' });
    expect(steps.map((of) => of.flat(2))).toEqual([0, 1, 2].map(() => [0, 1, 2, 3, 4, 5]));
  });

  it('refuses sharding by file without files', () => {
    const [context] = contexts as [InputContext];
    expect(() => distributeDataset([[1]], context, cpu(2), { autoShardPolicy: 'FILE' })).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
  });
});

describe('the steps of a dataset', () => {
  const reading = { sharding: 'DATA', globalBatchSize: undefined, devices: [], isChecked: false } as const;
  const place = { numWorkers: 1, workerIndex: 0, replicasPerWorker: 2 };
  const join = (parts: readonly unknown[]) => parts;

  it('end for a read that was requested before the dataset was closed', async () => {
    const late = deferred<number[]>();
    const dataset = {
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: await late.promise }) }),
    };
    const steps = new RebatchedSteps(new DatasetReader(dataset), { ...reading, place, join });
    const asked = steps.next();
    const closed = steps.close();
    late.resolve([1, 2]);
    expect(await asked).toEqual({ done: true, value: undefined });
    await closed;
  });

  it.each([
    [true, 1],
    [false, 0],
  ])('have a checksum only if the check is on: %s', async (isChecked, times) => {
    const data = vi.fn(async () => Float32Array.of(1, 2));
    const tensor = { dataId: {}, shape: [2], dtype: 'float32', data, slice: () => tensor, dispose: vi.fn() };
    const steps = new RebatchedSteps(new DatasetReader([tensor]), { ...reading, place, join, isChecked });
    expect(steps.checksum).toBeUndefined();
    await steps.next();
    expect(steps.checksum).toEqual(isChecked ? expect.any(Number) : undefined);
    expect(data).toHaveBeenCalledTimes(times);
    // Elements of a list belong to the caller, so they are not disposed of.
    expect(tensor.dispose).not.toHaveBeenCalled();
  });

  it.each([
    ['one worker', 1, undefined, 0, 0],
    ['two workers', 2, undefined, 1, 1],
    ['two workers that each get all items, in two steps', 2, 'OFF', 0, 3],
  ] as const)(
    'are compared between workers only if the workers share one dataset: %s',
    async (_, numInputPipelines, autoShardPolicy, times, meetings) => {
      const max = vi.fn(async (numbers: Float64Array | Uint8Array) => numbers);
      const context = new InputContext({ numInputPipelines, numReplicasInSync: 2 * numInputPipelines });
      const data = vi.fn(async () => Float32Array.of(1, 2, 3, 4));
      const tensor = { dataId: {}, shape: [4], dtype: 'float32', data, slice: () => tensor, dispose: () => {} };
      await collect(
        distributeDataset(
          [tensor] as never,
          context,
          cpu(2),
          { autoShardPolicy },
          new Readers({ what: 'worker', max }),
        ),
      );
      expect(max).toHaveBeenCalledTimes(meetings);
      expect(data).toHaveBeenCalledTimes(times);
    },
  );
});

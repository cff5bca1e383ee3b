import type { PerReplica } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { batches, collect } from '../../test/batches.js';
import { cpu } from '../../test/strategies.js';
import { distributeDataset } from './distribute-dataset.js';
import { InputContext } from './input-context.js';
import type { InputOptionsInit } from './input-options.js';

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

  it('that is shared by data gives every item to one replica', async () => {
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

  it('that is shared by file gives each worker its files, and steps of the global size', async () => {
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

  it('that is not shared gives all of it to every worker', async () => {
    const steps = await stepsOf(batches(6), { autoShardPolicy: 'OFF' });
    expect(steps.map((of) => of.flat(2))).toEqual([0, 1, 2].map(() => [0, 1, 2, 3, 4, 5]));
  });

  it('is refused by file where it has none', () => {
    const [context] = contexts as [InputContext];
    expect(() => distributeDataset([[1]], context, cpu(2), { autoShardPolicy: 'FILE' })).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
  });
});

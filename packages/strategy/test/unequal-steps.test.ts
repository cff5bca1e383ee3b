import type { PerReplica } from '@coll/core';
import { MirroredStrategy, type MultiWorkerMirroredStrategy } from '@coll/strategy';
import { afterEach, describe, expect, it } from 'vitest';
import * as fixture from './fixtures/reads-files.js';
import { type differs, type Epoch, filesOf, readsFiles } from './fixtures/reads-files.js';
import { expectWhole } from './read-items.js';
import { cpu } from './strategies.js';
import { closeGroups, workersHere } from './workers-here.js';

const module = new URL('./fixtures/reads-files.ts', import.meta.url);

afterEach(closeGroups);

/** What `readsFiles` does, in a loop outside of replicas. */
async function readsSteps(
  strategy: MultiWorkerMirroredStrategy,
  stepsOf: (strategy: MultiWorkerMirroredStrategy) => AsyncIterable<PerReplica<Float32Array>>,
): Promise<Epoch[][]> {
  const epochs: Epoch[][] = strategy.extended.workerDevices.map(() => []);
  for (let epoch = 0; epoch < 2; epoch++) {
    for (const each of epochs) each.push({ items: [], sums: [] });
    for await (const step of stepsOf(strategy)) {
      const sums = await strategy.run(
        (replica, part: Float32Array) => replica.allReduce('sum', Float32Array.of(epoch, part.length)),
        { args: [step] },
      );
      for (const [replica, sum] of strategy.experimentalLocalResults(sums).entries()) {
        epochs[replica]?.[epoch]?.items.push(...(step.values[replica] as Float32Array));
        epochs[replica]?.[epoch]?.sums.push(Array.from(sum.data));
      }
    }
  }
  return epochs;
}

describe.each([
  ['three equal files', [4, 4, 4]],
  ['files of unequal lengths', [2, 10, 3]],
  ['an empty file', [0, 6]],
])('%s', (_, lengths) => {
  it.each([1, 2])('are read in step by two workers with %i replicas each', async (replicas) => {
    const strategies = await workersHere(2, replicas);
    const epochs = await Promise.all(
      strategies.map((each) =>
        readsSteps(each, (strategy) => strategy.experimentalDistributeDataset(filesOf(lengths))),
      ),
    );
    expectWhole(epochs.flat(), lengths);
  });

  it.each([1, 2])('are read in step by replicas of one thread, %i workers', async (workers) => {
    const strategies = workers === 1 ? [new MirroredStrategy({ devices: cpu(2) })] : await workersHere(2, 1);
    const results = await Promise.all(
      strategies.map(async (strategy) =>
        strategy.experimentalLocalResults(await strategy.run((replica) => readsFiles(replica, lengths))),
      ),
    );
    expectWhole(
      results.flat().map((epochs) => JSON.parse(epochs as string)),
      lengths,
    );
  });

  it('are read in step by replicas in threads', async () => {
    await using strategy = new MirroredStrategy({ devices: cpu(2) });
    const results = await strategy.run<typeof fixture, 'readsFiles'>(module, {
      exportName: 'readsFiles',
      args: [lengths, true],
    });
    expectWhole(
      strategy.experimentalLocalResults(results).map((epochs) => JSON.parse(epochs)),
      lengths,
    );
  });
});

it.each(['PER_WORKER', 'PER_REPLICA'] as const)(
  'datasets of a function are read in step by two workers, one dataset %s',
  async (experimentalReplicationMode) => {
    const lengths = [6, 2, 4, 2];
    const strategies = await workersHere(2, 2);
    const epochs = await Promise.all(
      strategies.map((each) =>
        readsSteps(each, (strategy) =>
          strategy.distributeDatasetsFromFunction<Float32Array>(
            ({ numInputPipelines, inputPipelineId }) => {
              const { files, read } = filesOf(lengths);
              return () => read(files.filter((file) => file % numInputPipelines === inputPipelineId));
            },
            { experimentalReplicationMode },
          ),
        ),
      ),
    );
    expectWhole(epochs.flat(), lengths);
  },
);

describe('a request for a step never matches a call of a program', () => {
  const message = /next step of a dataset/;

  it('between workers', async () => {
    const [first, last] = (await workersHere(2, 1)) as [MultiWorkerMirroredStrategy, MultiWorkerMirroredStrategy];
    const reads = async () => {
      for await (const _ of first.experimentalDistributeDataset<Float32Array>(filesOf([2, 2])));
    };
    const outcomes = await Promise.allSettled([
      reads(),
      last.run((replica) => replica.allReduce('max', Float64Array.of(1, 2))),
    ]);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ reason: { code: 'ERR_COLL_MISMATCH', message: expect.stringMatching(message) } });
  });

  it.each(['one thread', 'threads'])('between replicas in %s', async (where) => {
    await using strategy = new MirroredStrategy({ devices: cpu(2) });
    const run =
      where === 'threads'
        ? strategy.run<typeof fixture, 'differs'>(module, { exportName: 'differs' })
        : strategy.run(fixture.differs as typeof differs);
    await expect(run).rejects.toMatchObject({ code: 'ERR_COLL_MISMATCH', message: expect.stringMatching(message) });
  });
});

it('a worker with a loop of its own gets the gradient of all items from sums of gradients and counts', async () => {
  const strategies = await workersHere(2, 1);
  const lengths = [2, 10, 4];
  const means = await Promise.all(
    strategies.map(async (strategy) => {
      const means: number[] = [];
      for await (const step of strategy.experimentalDistributeDataset<Float32Array>(filesOf(lengths))) {
        const mean = await strategy.run(
          async (replica, part: Float32Array) => {
            const gradient = part.reduce((sum, item) => sum + item, 0);
            const [sum, count] = await replica.allReduce('sum', [
              Float32Array.of(gradient),
              Float32Array.of(part.length),
            ] as const);
            return (sum.data[0] as number) / (count.data[0] as number);
          },
          { args: [step] },
        );
        means.push(mean as unknown as number);
      }
      return means;
    }),
  );
  expect(means[0]).toEqual(means[1]);
  expect(means[0]?.every(Number.isFinite)).toBe(true);
});

import { fromFloat16, Mirrored, PerReplica, type Tensor, tensor, toFloat16, toNumbers } from '@coll/core';
import { getReplicaContext, type MultiWorkerMirroredStrategy } from '@coll/strategy';
import { afterEach, describe, expect, it } from 'vitest';
import { closeGroups, cpus, workersHere } from './workers-here.js';

/** Does the same on all workers. */
function onAll<Result>(
  strategies: readonly MultiWorkerMirroredStrategy[],
  act: (strategy: MultiWorkerMirroredStrategy, worker: number) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all(strategies.map(act));
}

/** A number rounded to float16. */
const half = (number: number) => [fromFloat16(toFloat16(number))];

const numbersOf = (value: unknown) => toNumbers(value as Tensor);

afterEach(closeGroups);

describe.each([
  [1, 1],
  [1, 2],
  [2, 1],
  [2, 2],
  [3, 2],
])('%i workers with %i replicas each', (workers, replicas) => {
  const size = workers * replicas;
  const ids = cpus(size).map((_, id) => id);
  const total = ids.reduce((sum, id) => sum + id, 0);
  const own = (worker: number) => ids.slice(worker * replicas, (worker + 1) * replicas);

  it('number replicas worker by worker', async () => {
    const strategies = await workersHere(workers, replicas);
    const results = await onAll(strategies, async (strategy) =>
      strategy.experimentalLocalResults(
        await strategy.run(({ replicaIdInSyncGroup, numReplicasInSync, devices }) => [
          replicaIdInSyncGroup,
          numReplicasInSync,
          devices[0],
          getReplicaContext()?.replicaIdInSyncGroup,
        ]),
      ),
    );
    expect(results).toEqual(
      strategies.map((_, worker) =>
        own(worker).map((id, place) => {
          const device = `/job:worker/replica:0/task:${worker}/device:CPU:${place}`;
          return [id, size, device, id];
        }),
      ),
    );
    expect(strategies.map(({ numReplicasInSync, extended }) => [numReplicasInSync, extended.firstReplica])).toEqual(
      strategies.map((_, worker) => [size, worker * replicas]),
    );
  });

  it('reduce, gather and broadcast inside replicas', async () => {
    const results = await onAll(await workersHere(workers, replicas), async (strategy) => {
      const outcome = await strategy.run(async (context) => {
        const id = context.replicaIdInSyncGroup;
        const value = tensor(Float32Array.of(id, 1));
        const rows = tensor(new Float32Array(id + 1).fill(id));
        return {
          sum: await context.allReduce('sum', { nested: [value] }),
          mean: await context.allReduce('mean', value),
          gathered: await context.allGather(rows, 0),
          ofLast: await context.broadcast(value, size - 1),
        };
      });
      return strategy.experimentalLocalResults(outcome as unknown) as Record<string, never>[];
    });
    for (const { sum, mean, gathered, ofLast } of results.flat()) {
      expect(numbersOf((sum as unknown as { nested: Tensor[] }).nested[0])).toEqual([total, size]);
      expect(numbersOf(mean)).toEqual([total / size, 1]);
      expect(numbersOf(gathered)).toEqual(ids.flatMap((id) => new Array(id + 1).fill(id)));
      expect(numbersOf(ofLast)).toEqual([size - 1, 1]);
    }
  });

  it('reduce and gather outside replicas, with devices of each worker as destinations', async () => {
    const results = await onAll(await workersHere(workers, replicas), async (strategy) => {
      const value = strategy.experimentalDistributeValuesFromFunction((context) =>
        tensor(Float64Array.of(context.replicaIdInSyncGroup, 2)),
      );
      expect(value.values).toHaveLength(replicas);
      const mirrored = await strategy.extended.reduceTo('sum', value, cpus(replicas));
      // Which leaves the group as it is.
      await expect(strategy.extended.reduceTo('sum', value, '/job:worker/task:9/cpu:0')).rejects.toMatchObject({
        code: 'ERR_COLL_DEVICE',
        message: expect.stringContaining('belongs to another worker'),
      });
      return {
        sum: numbersOf(await strategy.reduce('sum', value, null)),
        // Replicas have batches of different sizes.
        mean: numbersOf(
          await strategy.reduce(
            'mean',
            strategy.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup: id }) =>
              tensor(new Float64Array(id + 1).fill(id)),
            ),
            0,
          ),
        ),
        halves: await Promise.all(
          (['sum', 'mean'] as const).map(async (op) =>
            numbersOf(
              await strategy.reduce(
                op,
                strategy.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup: id }) =>
                  tensor(id === 0 ? [60_000, 60_000] : [-60_000, 0], { dtype: 'float16' }),
                ),
                0,
              ),
            ),
          ),
        ),
        flags: numbersOf(
          await strategy.reduce(
            'mean',
            strategy.experimentalDistributeValuesFromFunction(() => new Uint8Array(200).fill(1)),
            0,
          ),
        ),
        gathered: numbersOf(await strategy.gather(value, 0)),
        devices: mirrored instanceof Mirrored ? mirrored.devices : [(mirrored as Tensor).device],
      };
    });
    const counts = ids.reduce((sum, id) => sum + id + 1, 0);
    const weighted = ids.reduce((sum, id) => sum + id * (id + 1), 0) / counts;
    const halves = 120_000 - 60_000 * (size - 1);
    for (const [worker, { sum, mean, gathered, devices, ...others }] of results.entries()) {
      expect(sum).toEqual([total, 2 * size]);
      expect(mean).toEqual([weighted]);
      expect(others.halves).toEqual([half(halves), half(halves / (2 * size))]);
      expect(others.flags).toEqual([1]);
      expect(gathered).toEqual(ids.flatMap((id) => [id, 2]));
      expect(devices).toEqual(
        own(worker).map((_, place) => `/job:worker/replica:0/task:${worker}/device:CPU:${place}`),
      );
    }
  });

  it('refuse to reduce different dtypes along an axis', async () => {
    if (workers === 1) return;
    const results = await onAll(await workersHere(workers, replicas), async (strategy, worker) => {
      const value = strategy.experimentalDistributeValuesFromFunction(() =>
        tensor([1], { dtype: worker === 0 ? 'float16' : 'float32' }),
      );
      return strategy.reduce('sum', value, 0).catch((error: unknown) => error);
    });
    for (const error of results) {
      expect(error).toMatchObject({
        code: 'ERR_COLL_DTYPE_MISMATCH',
        message: expect.stringContaining('float16, float32'),
      });
    }
  });

  it('combine single values across workers, one contribution per worker', async () => {
    const results = await onAll(await workersHere(workers, replicas), async (strategy, worker) => {
      const bare = tensor([worker + 1]);
      if (workers === 1) return [numbersOf(await strategy.extended.reduceTo('mean', bare, 'cpu:0'))];
      const batch = await strategy.extended.batchReduceTo('sum', [
        [bare, 'cpu:0'],
        [new PerReplica(own(worker).map((id) => tensor([id]))), 'cpu:0'],
        [tensor([10]), 'cpu:0'],
      ]);
      return [
        numbersOf(await strategy.extended.reduceTo('mean', bare, 'cpu:0')),
        numbersOf(await strategy.extended.reduceTo('sum', 0, 'cpu:0')),
        numbersOf(await strategy.gather(bare, 0)),
        ...batch.map(numbersOf),
      ];
    });
    const ones = sumTo(workers);
    const several = [
      [(workers + 1) / 2],
      [0],
      cpus(workers).map((_, worker) => worker + 1),
      [ones],
      [total],
      [10 * workers],
    ];
    for (const result of results) expect(result).toEqual(workers === 1 ? [[1]] : several);
  });

  it('return mirrored values unchanged', async () => {
    const [strategy] = (await workersHere(workers, replicas)) as [MultiWorkerMirroredStrategy];
    const mirrored = new Mirrored(cpus(replicas).map(() => tensor([1])));
    expect(await strategy.extended.reduceTo('mean', mirrored, 'cpu:0')).toBe(mirrored);
    await expect(strategy.extended.reduceTo('sum', mirrored, 'cpu:0')).rejects.toMatchObject({
      name: 'AssertionError',
      code: 'ERR_COLL_VALUE',
    });
  });

  it('run merge calls on each worker, with the arguments of its replicas', async () => {
    const results = await onAll(await workersHere(workers, replicas), async (strategy) => {
      const outcome = await strategy.run((context) =>
        context.mergeCall(
          async (merging, value) => [
            merging === strategy,
            strategy.experimentalLocalResults(value).map(numbersOf),
            numbersOf(await merging.reduce('sum', value, null)),
          ],
          [tensor([context.replicaIdInSyncGroup])],
        ),
      );
      return strategy.experimentalLocalResults(outcome as unknown)[0];
    });
    expect(results).toEqual(cpus(workers).map((_, worker) => [true, own(worker).map((id) => [id]), [total]]));
  });

  it('split the batches of a dataset', async () => {
    const batches = () => [Int32Array.from(cpus(2 * size).map((_, item) => item)), Int32Array.of(7, 8, 9)];
    const parts = await onAll(await workersHere(workers, replicas), async (strategy) => {
      const { numInputPipelines, inputPipelineId, numReplicasInSync } = strategy.inputContext;
      expect([numInputPipelines, numReplicasInSync]).toEqual([workers, size]);
      const steps: number[][][] = [];
      for await (const step of strategy.experimentalDistributeDataset(batches()))
        steps.push((step as PerReplica<Int32Array>).values.map((part) => [...part]));
      return { inputPipelineId, steps };
    });
    expect(parts.map(({ inputPipelineId }) => inputPipelineId)).toEqual(cpus(workers).map((_, worker) => worker));
    const whole = parts.flatMap(({ steps }) => steps[0] ?? []);
    expect(whole).toEqual(ids.map((id) => [2 * id, 2 * id + 1]));
    expect(parts.flatMap(({ steps }) => (steps[1] ?? []).flat())).toEqual([7, 8, 9]);
  });
});

function sumTo(workers: number): number {
  return (workers * (workers + 1)) / 2;
}

it('all workers refuse a dataset whose first batch differs between them', async () => {
  const outcomes = await onAll(await workersHere(2, 1), async (strategy, worker) => {
    const dataset = strategy.experimentalDistributeDataset([Float32Array.of(1, 2), Float32Array.of(worker, 3)]);
    const steps: unknown[] = [];
    for await (const step of dataset) steps.push(step.values.map((part) => [...part]));
    const shuffled = strategy.experimentalDistributeDataset([Float32Array.of(worker, 2)]);
    const error = await shuffled[Symbol.asyncIterator]()
      .next()
      .catch((reason: unknown) => reason);
    return { steps, error };
  });
  const error = { code: 'ERR_COLL_VALUE', message: expect.stringMatching(/^workers read different first batches/) };
  expect(outcomes).toMatchObject([
    { steps: [[[1]], [[0]]], error },
    { steps: [[[2]], [[3]]], error },
  ]);
});

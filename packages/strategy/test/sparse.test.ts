import { deduplicate, IndexedSlices, type Mirrored, type Tensor, tensor, toNumbers } from '@coll/core';
import { getReplicaContext, MirroredStrategy, type ReplicaContext } from '@coll/strategy';
import { describe, expect, it } from 'vitest';
import '@coll/direct/register';
import '@coll/ring/register';
import { mixed, type refusals, sparse } from './fixtures/sparse.js';
import { cpu } from './strategies.js';

const module = new URL('./fixtures/sparse.ts', import.meta.url);

type Sparse = Awaited<ReturnType<typeof sparse>>;
type Slices = Record<string, IndexedSlices>;

const runs = [
  [1, 'auto'],
  [3, 'auto'],
  [2, 'wasm'],
  [2, 'js'],
] as const;

describe.each(runs)('sparse values of %i replicas, with %s', (replicas, engine) => {
  const strategy = new MirroredStrategy({ devices: cpu(replicas), crossDeviceOps: 'direct', engine });
  const ids = Array.from({ length: replicas }, (_, id) => id);

  it('reduce to the same bits in threads as in one thread', async () => {
    const here = strategy.experimentalLocalResults(await strategy.run(sparse)) as Sparse[];
    const run = strategy.run(module, { exportName: 'sparse', args: [true] });
    const there = strategy.experimentalLocalResults(await run) as Sparse[];
    expect(there.map((result) => ({ ...result, blocking: false }))).toEqual(here);
    for (const { sum, uniqueMean, blocking } of there) expect(blocking).toEqual({ sum, uniqueMean });
    for (const [id, { sum, unique, many }] of there.entries()) {
      expect(unique).toEqual(uniqueOf(sum as never));
      const { some, none, empty, mixedIndices } = sum as unknown as Slices;
      expect([some?.device, some?.denseShape]).toEqual([`/job:localhost/replica:0/task:0/device:CPU:${id}`, [3, 2]]);
      expect(some?.values.shape).toEqual([ids.reduce((rows, each) => rows + each, 0), 2]);
      expect([none?.values.shape, empty?.values.data.length]).toEqual([[0, 2], 0]);
      expect(mixedIndices?.indices.dtype).toBe(replicas === 1 ? 'int32' : 'int64');
      expect(toNumbers(many)).toEqual(plainSum(replicas));
    }
  });
});

describe('mismatching sparse values', () => {
  const strategy = new MirroredStrategy({ devices: cpu(3), crossDeviceOps: 'ring' });

  it('fail with the same error on all replicas in threads', async () => {
    const messages = strategy.experimentalLocalResults(await strategy.run(module, { exportName: 'refusals' }));
    for (const one of messages as Awaited<ReturnType<typeof refusals>>[]) {
      expect(one).toMatchObject({
        rows: { name: 'InvalidArgumentError', code: 'ERR_COLL_SHAPE_MISMATCH', rank: 2 },
        dtype: { name: 'InternalError', code: 'ERR_COLL_DTYPE_MISMATCH', rank: 2 },
        option: { name: 'InternalError', code: 'ERR_COLL_MISMATCH', rank: 2 },
        afterwards: { data: Float32Array.of(4) },
      });
    }
  });

  it('with dense values on other replicas are summed in one thread, and fail on all replicas in threads', async () => {
    const [sum] = strategy.experimentalLocalResults(await strategy.run(mixed)) as [Tensor];
    expect(sum).toMatchObject({ dtype: 'float32', shape: [3], data: Float32Array.of(23, 2, 22) });
    const messages = await strategy.run(module, { exportName: 'mixed' });
    expect(messages).toBe('ERR_COLL_MISMATCH');
  });
});

describe('a strategy', () => {
  const strategy = new MirroredStrategy({ devices: cpu(2), crossDeviceOps: 'ring' });
  const slices = (row: number) => new IndexedSlices(tensor(Float32Array.of(row)), Int32Array.of(row), [4]);
  const value = strategy.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup: id }) => slices(id + 1));
  const sum = (device = '') =>
    new IndexedSlices(
      tensor([1, 2], { dtype: 'float32', shape: [2], device }),
      tensor(Int32Array.of(1, 2), { device }),
      [4],
    );

  it('reduces and broadcasts sparse values, and refuses to gather them', async () => {
    const [first] = strategy.extended.workerDevices as [string];
    expect(await strategy.reduce('sum', value, null)).toEqual(sum(first));
    expect(await strategy.extended.reduceTo('sum', { nested: [value] }, first)).toEqual({ nested: [sum(first)] });
    const [batch, dense] = await strategy.extended.batchReduceTo(
      'mean',
      [
        [value, value],
        [strategy.experimentalDistributeValuesFromFunction(() => Float32Array.of(3)), first],
      ],
      { deduplicate: true },
    );
    const { values } = batch as Mirrored<IndexedSlices>;
    expect(values.map((slices) => [slices.device, toNumbers(slices.values)])).toEqual(
      strategy.extended.workerDevices.map((device) => [device, [0.5, 1]]),
    );
    expect(dense).toMatchObject({ data: Float32Array.of(3) });
    const copies = (await strategy.extended.broadcastTo(slices(3), ['cpu:0', 'cpu:1'])) as Mirrored<IndexedSlices>;
    expect(copies.values.map(({ indices }) => indices.data)).toEqual([Int32Array.of(3), Int32Array.of(3)]);
    await expect(strategy.gather(value, 0)).rejects.toMatchObject({ code: 'ERR_COLL_NOT_IMPLEMENTED' });
  });
});

/** The sum of many rows, one by one. */
function plainSum(replicas: number): number[] {
  const sums = new Array<number>(4000).fill(0);
  for (let id = 0; id < replicas; id++) {
    for (let at = 0; at < 4 * (40_000 + id); at++) {
      const place = 4 * ((Math.floor(at / 4) * 31) % 1000) + (at % 4);
      sums[place] = (sums[place] as number) + (at % 97);
    }
  }
  return sums;
}

it('the default replica returns the sum of sparse values unchanged, or with unique indices if requested', async () => {
  const replica = getReplicaContext() as ReplicaContext;
  const thirds = new IndexedSlices(tensor(Int32Array.of(1, 2, 4)), Int32Array.of(5, 3, 5));
  const options = { deduplicate: true };
  expect(await replica.allReduce('sum', thirds)).toMatchObject({ indices: { data: Int32Array.of(5, 3, 5) } });
  expect(await replica.allReduce('mean', thirds, options)).toMatchObject({
    values: { data: Float64Array.of(2, 5), dtype: 'float64' },
    indices: { data: Int32Array.of(3, 5) },
  });
});

function uniqueOf(values: Slices): unknown {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value instanceof IndexedSlices ? deduplicate(value) : value]),
  );
}

import {
  AssertionError,
  IndexedSlices,
  Mirrored,
  PerReplica,
  ReduceOp,
  type Tensor,
  tensor,
  tensorSymbol,
} from '@coll/core';
import { describe, expect, it } from 'vitest';
import { MirroredStrategy, VariableAggregation } from '../index.js';

const cpu = (index: number) => `/job:localhost/replica:0/task:0/device:CPU:${index}`;
const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const alone = new MirroredStrategy({ devices: ['cpu:0'] });
const { extended } = strategy;

const bare = new PerReplica([Float32Array.of(1, 2), Float32Array.of(3, 5)]);
const placed = new PerReplica([
  tensor(Float32Array.of(1, 2), { device: cpu(0) }),
  tensor(Float32Array.of(3, 5), { device: cpu(1) }),
]);

const components = (value: unknown) => (value as Mirrored<Tensor>).values.map(({ data, device }) => [device, ...data]);

describe('the devices of a strategy', () => {
  it('have full names', () => {
    expect(extended.workerDevices).toEqual([cpu(0), cpu(1)]);
    expect(extended.parameterDevices).toEqual([cpu(0), cpu(1)]);
    expect(strategy.numReplicasInSync).toBe(2);
  });

  it('include a default device for results, which is the first one', () => {
    expect(new MirroredStrategy({ devices: ['cpu:1', 'cpu:0'] }).extended.defaultDevice).toBe(cpu(1));
  });
});

describe('reduceTo', () => {
  it('puts the result on a device, a list of devices, or the devices of a value', async () => {
    expect(await extended.reduceTo('sum', bare, 'cpu:1')).toMatchObject({
      data: Float32Array.of(4, 7),
      device: cpu(1),
    });
    const everywhere = [
      [cpu(0), 2, 3.5],
      [cpu(1), 2, 3.5],
    ];
    for (const destinations of [['cpu:0', 'cpu:1'], bare, placed, new Mirrored([new Float32Array(1), 5])]) {
      const reduced = await extended.reduceTo(ReduceOp.MEAN, bare, destinations);
      expect(reduced).toBeInstanceOf(Mirrored);
      expect(components(reduced)).toEqual(everywhere);
    }
    const where = tensor(new Float32Array(1), { device: 'cpu:1' });
    expect(await extended.reduceTo('max', placed, where)).toMatchObject({
      data: Float32Array.of(3, 5),
      device: cpu(1),
    });
  });

  it('never changes the destinations or the value', async () => {
    const variable = new Mirrored([Float32Array.of(7), Float32Array.of(7)]);
    const value = new PerReplica([Float32Array.of(1), Float32Array.of(2)]);
    const reduced = (await extended.reduceTo('sum', value, variable)) as Mirrored<Tensor>;
    for (const { data } of reduced.values) (data as Float32Array).fill(0);
    expect(variable.values).toEqual([Float32Array.of(7), Float32Array.of(7)]);
    expect(value.values).toEqual([Float32Array.of(1), Float32Array.of(2)]);
  });

  it('reduces structures leaf by leaf', async () => {
    const reduced = await extended.reduceTo('sum', { a: bare, b: [new PerReplica([1, 2]), 0] }, 'cpu:0');
    expect(reduced).toMatchObject({ a: { data: Float32Array.of(4, 7) }, b: [{ data: Float64Array.of(3) }, 0] });
  });

  it.each(['mean', 'min', 'max'] as const)('returns a mirrored value unchanged for the op %s', async (op) => {
    const mirrored = new Mirrored([Float32Array.of(1), Float32Array.of(1)]);
    expect(await extended.reduceTo(op, mirrored, 'cpu:0')).toBe(mirrored);
  });

  it.each(['sum', 'product'] as const)('refuses the %s of a mirrored value', async (op) => {
    const mirrored = new Mirrored([1, 1]);
    const refused = expect(extended.reduceTo(op, mirrored, 'cpu:0')).rejects;
    await refused.toBeInstanceOf(AssertionError);
    await refused.toMatchObject({ code: 'ERR_COLL_VALUE', operation: 'reduce' });
    await expect(extended.reduceTo(op, [mirrored], 'cpu:0')).rejects.toMatchObject({
      name: 'AssertionError',
      code: 'ERR_COLL_VALUE',
    });
  });

  it('refuses destinations without a device', async () => {
    for (const destinations of [undefined, null, 5, {}, '', [], Float32Array.of(1)])
      await expect(extended.reduceTo('sum', bare, destinations as never)).rejects.toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_DESTINATION',
      });
    await expect(extended.reduceTo('sum', bare, ['cpu:0', 'CPU:0'])).rejects.toMatchObject({
      name: 'AssertionError',
      code: 'ERR_COLL_DEVICE',
    });
  });

  it('refuses invalid ops, options and component counts', async () => {
    await expect(extended.reduceTo('none' as never, bare, 'cpu:0')).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    await expect(extended.reduceTo('sum', bare, 'cpu:0', { bytesPerPack: -1 })).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    await expect(extended.reduceTo('sum', new PerReplica([1]), 'cpu:0')).rejects.toMatchObject({
      ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'reduce' },
      message: 'a value of 1 components cannot be reduced over 2 replicas',
    });
  });
});

it.each([
  ['a tensor', () => tensor(Float32Array.of(2))],
  ['an array', () => Float32Array.of(2)],
  ['slices', () => new IndexedSlices(tensor(Float32Array.of(2)), tensor(Int32Array.of(0)), [1])],
])('reduceTo accepts %s as its own destination, on a single replica as on several', async (_, make) => {
  for (const each of [alone, strategy]) {
    const reduced = await each.run(async (replica) =>
      replica.mergeCall(
        async (inside, value) => [await inside.extended.reduceTo('sum', value as never, value as never)],
        [make()],
      ),
    );
    expect(each.experimentalLocalResults(reduced)).toHaveLength(each.numReplicasInSync);
  }
  const value = make();
  expect(await alone.extended.batchReduceTo('sum', [[value, value as never]])).toHaveLength(1);
});

describe('the aggregation of a variable', () => {
  it.each(['NONE', 'ONLY_FIRST_REPLICA'] as const)('is not a reduce op: %s', async (aggregation) => {
    for (const reduced of [
      extended.reduceTo(VariableAggregation[aggregation] as never, bare, 'cpu:0'),
      extended.batchReduceTo(aggregation as never, [[bare, 'cpu:0']]),
      strategy.reduce(aggregation as never, bare, null),
    ])
      await expect(reduced).rejects.toMatchObject({ name: 'AssertionError', code: 'ERR_COLL_VALUE' });
  });
});

describe('reduceTo of a value that is not distributed', () => {
  it('returns zero for zero, with any op and destinations', async () => {
    expect(await extended.reduceTo('sum', 0, undefined as never)).toBe(0);
    expect(await extended.reduceTo('mean', -0, 'cpu:0')).toBe(0);
    const zeros = new Int32Array(3);
    const result = (await extended.reduceTo('sum', zeros, 5 as never)) as Tensor;
    expect(result).toEqual({ data: new Int32Array(3), dtype: 'int32', shape: [3], device: '' });
    expect(result.data).not.toBe(zeros);
    expect(await extended.reduceTo('sum', new BigInt64Array(1), 'cpu:0')).toMatchObject({ data: new BigInt64Array(1) });
  });

  it('returns the value itself for its mean', async () => {
    const array = Float32Array.of(1, 2);
    expect(await extended.reduceTo('mean', array, 5 as never)).toBe(array);
    expect(await extended.reduceTo('mean', 3, 'cpu:0')).toBe(3);
  });

  it('refuses to sum the value over several replicas', async () => {
    for (const value of [
      1,
      Float32Array.of(0, 1),
      tensor(new Float32Array(2)),
      new IndexedSlices(new Float32Array(1), Int32Array.of(0)),
    ])
      for (const op of ['sum', 'product'] as const)
        await expect(extended.reduceTo(op, value, 'cpu:0')).rejects.toMatchObject({
          ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'reduce' },
          message: expect.stringContaining('cannot be reduced with the given reduce op'),
        });
  });

  it('copies the sum over a single replica to the destinations', async () => {
    const array = Float32Array.of(1, 2);
    const copy = (await alone.extended.reduceTo('sum', array, 'cpu:0')) as Tensor;
    expect(copy).toMatchObject({ data: array, device: cpu(0) });
    expect(copy.data).not.toBe(array);
    expect(components(await alone.extended.reduceTo('sum', 4, ['cpu:0', 'cpu:5']))).toEqual([
      [cpu(0), 4],
      [cpu(5), 4],
    ]);
    await expect(alone.extended.reduceTo('sum', array, '')).rejects.toMatchObject({ code: 'ERR_COLL_DESTINATION' });
  });

  it('accepts an object that carries a tensor, and refuses other values', async () => {
    const carrier = { [tensorSymbol]: () => Float32Array.of(6) };
    expect(await alone.extended.reduceTo('sum', carrier, 'cpu:0')).toMatchObject({ data: Float32Array.of(6) });
    for (const value of ['text', null, undefined, new Map()])
      await expect(extended.reduceTo('sum', value, 'cpu:0')).rejects.toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
      });
  });
});

describe('batchReduceTo', () => {
  it('reduces each value to its destinations, in the order of the pairs', async () => {
    const numbers = new PerReplica([1, 2]);
    const reduced = await extended.batchReduceTo('sum', [
      [bare, bare],
      [numbers, 'cpu:1'],
      [placed, placed],
    ]);
    expect(components(reduced[0])).toEqual([
      [cpu(0), 4, 7],
      [cpu(1), 4, 7],
    ]);
    expect(reduced[1]).toMatchObject({ data: Float64Array.of(3), device: cpu(1) });
    expect(components(reduced[2])).toEqual(components(reduced[0]));
  });

  it('accepts mixed dtypes, any iterable, and an empty batch', async () => {
    const ints = new PerReplica([Int32Array.of(1), Int32Array.of(2)]);
    const pairs = new Map([
      [ints, ints],
      [bare as PerReplica, bare as PerReplica],
    ]);
    const reduced = await extended.batchReduceTo('mean', pairs);
    expect(reduced.map((item) => (item as Mirrored<Tensor>).values[1]?.dtype)).toEqual(['float64', 'float32']);
    expect(await extended.batchReduceTo('sum', [])).toEqual([]);
  });

  it('refuses invalid pairs before any data moves', async () => {
    for (const pairs of [5, undefined, {}, [5], [undefined], [[bare]], [[bare, 'cpu:0', 1]]])
      await expect(extended.batchReduceTo('sum', pairs as never)).rejects.toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
        operation: 'batch-reduce',
      });
    await expect(extended.batchReduceTo('sum', [[bare, '']])).rejects.toMatchObject({ code: 'ERR_COLL_DESTINATION' });
    await expect(
      extended.batchReduceTo('sum', [
        [bare, bare],
        [new PerReplica([1]), 'cpu:0'],
      ]),
    ).rejects.toThrow(/1 components/);
  });
});

describe('broadcastTo', () => {
  it('copies a value to the destinations', async () => {
    const value = Float32Array.of(1);
    expect(components(await extended.broadcastTo(value, ['cpu:0', 'cpu:1']))).toEqual([
      [cpu(0), 1],
      [cpu(1), 1],
    ]);
    expect(components(await extended.broadcastTo(value, bare))).toHaveLength(2);
    expect(await extended.broadcastTo(value, 'cpu:1')).toMatchObject({ data: value, device: cpu(1) });
  });

  it('returns plain numbers unchanged, and requires explicit destinations', async () => {
    expect(await extended.broadcastTo(5, 'cpu:0')).toBe(5);
    await expect(extended.broadcastTo(5, undefined as never)).rejects.toMatchObject({
      name: 'AssertionError',
      code: 'ERR_COLL_DESTINATION',
    });
    for (const destinations of [undefined, null])
      await expect(extended.broadcastTo(Float32Array.of(1), destinations as never)).rejects.toBeInstanceOf(
        AssertionError,
      );
    await expect(extended.broadcastTo(bare, 'cpu:0')).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_CONTEXT',
    });
  });
});

describe('gatherTo', () => {
  it('concatenates components on the destinations', async () => {
    expect(components(await extended.gatherTo(bare, bare, 0))).toEqual([
      [cpu(0), 1, 2, 3, 5],
      [cpu(1), 1, 2, 3, 5],
    ]);
  });
});

describe('callForEachReplica', () => {
  it('is the same as run', async () => {
    const seen = await extended.callForEachReplica((replica) => replica.replicaIdInSyncGroup);
    expect(strategy.experimentalLocalResults(seen)).toEqual([0, 1]);
  });
});

it.each([
  ['slices', new IndexedSlices(tensor(Float32Array.of(1)), Int32Array.of(0), [4])],
  ['slices of each replica', new PerReplica([0, 1].map(() => new IndexedSlices(tensor([1]), Int32Array.of(0), [4])))],
])('gatherTo refuses %s', async (_, value) => {
  const refused = { name: 'NotImplementedError', operation: 'gather' };
  await expect(extended.gatherTo(value, 'cpu:0', 0)).rejects.toMatchObject(refused);
});

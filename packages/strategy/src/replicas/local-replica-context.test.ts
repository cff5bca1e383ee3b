import {
  CommunicationOptions,
  IndexedSlices,
  NotImplementedError,
  type Tensor,
  tensor,
  tensorSymbol,
  toNumbers,
} from '@coll/core';
import { reductionToOne } from '@coll/reduction-to-one';
import { ring } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import { MirroredStrategy, type ReplicaContext } from '../index.js';

const strategyOf = (replicas: number, crossDeviceOps: typeof ring | typeof reductionToOne = ring) =>
  new MirroredStrategy({ devices: Array.from({ length: replicas }, (_, index) => `cpu:${index}`), crossDeviceOps });
const two = strategyOf(2);

/** The result of each replica. */
async function each<Result>(strategy: MirroredStrategy, fn: (replica: ReplicaContext) => Result | Promise<Result>) {
  return strategy.experimentalLocalResults(await strategy.run(fn)) as readonly Awaited<Result>[];
}

describe.each([1, 2, 3, 4])('%i replicas', (replicas) => {
  const ids = Array.from({ length: replicas }, (_, id) => id);
  const total = ids.reduce((sum, id) => sum + id, 0);

  it.each([ring, reductionToOne])('reduce nested structures with $name', async (plugin) => {
    const reduced = await each(strategyOf(replicas, plugin), (replica) => {
      const id = replica.replicaIdInSyncGroup;
      const slices = new IndexedSlices(tensor([id, id], { dtype: 'float32' }), Int32Array.of(id, 0), [9]);
      return replica.allReduce('mean', { dense: [Float32Array.of(id, 1), id], slices, ints: Int32Array.of(id) });
    });
    for (const [id, result] of reduced.entries()) {
      const { dense, slices, ints } = result as unknown as { dense: Tensor[]; slices: IndexedSlices; ints: Tensor };
      const device = `/job:localhost/replica:0/task:0/device:CPU:${id}`;
      expect(dense[0]).toMatchObject({ data: Float32Array.of(total / replicas, 1), device });
      expect(dense[1]).toMatchObject({ data: Float64Array.of(total / replicas), shape: [], device });
      expect(ints).toMatchObject({ data: Float64Array.of(total / replicas), dtype: 'float64', device });
      expect(slices).toBeInstanceOf(IndexedSlices);
      expect(toNumbers(slices.indices)).toEqual(ids.flatMap((other) => [other, 0]));
      expect(toNumbers(slices.values)).toEqual(
        ids.flatMap((other) => [Math.fround(other / replicas), Math.fround(other / replicas)]),
      );
      expect(slices.device).toBe(device);
    }
  });

  it('gather along an axis with different lengths', async () => {
    const gathered = await each(strategyOf(replicas), (replica) => {
      const rows = replica.replicaIdInSyncGroup + 1;
      return replica.allGather({ x: tensor(new Int32Array(rows * 2).fill(rows), { shape: [rows, 2] }) }, 0);
    });
    const rows = ids.reduce((sum, id) => sum + id + 1, 0);
    for (const result of gathered) {
      const { x } = result as unknown as { x: Tensor };
      expect(x.shape).toEqual([rows, 2]);
      expect([...x.data]).toEqual(ids.flatMap((id) => new Array(2 * id + 2).fill(id + 1)));
    }
  });

  it('broadcast from any root', async () => {
    const root = replicas - 1;
    const sent = await each(strategyOf(replicas), (replica) =>
      replica.broadcast([Float32Array.of(replica.replicaIdInSyncGroup), 7], root),
    );
    expect(sent).toHaveLength(replicas);
    for (const result of sent)
      expect(result).toMatchObject([{ data: Float32Array.of(root) }, { data: Float64Array.of(7) }]);
  });

  it('return results in new memory and do not change their inputs', async () => {
    const inputs = ids.map((id) => Float32Array.of(id));
    await each(strategyOf(replicas), async (replica) => {
      const input = inputs[replica.replicaIdInSyncGroup] as Float32Array;
      for (const result of [
        await replica.allReduce('sum', input),
        await replica.allGather(input, 0),
        await replica.broadcast(input),
      ])
        result.data.fill(99);
    });
    expect(inputs).toEqual(ids.map((id) => Float32Array.of(id)));
  });

  it('share one result memory with sharedResult, which is not an input', async () => {
    const results = await each(strategyOf(replicas), async (replica) => {
      const input = Float32Array.of(replica.replicaIdInSyncGroup);
      const options = { sharedResult: true };
      const made = [
        await replica.allReduce('sum', input, options),
        await replica.allGather(input, 0, options),
        await replica.broadcast(input, 0, options),
      ];
      expect(made.map(({ data }) => data === input)).toEqual([false, false, false]);
      expect(made.map(({ device }) => device)).toEqual(made.map(() => replica.devices[0]));
      return made.map(({ data }) => data);
    });
    for (const made of results) {
      expect(made).toEqual([Float32Array.of(total), Float32Array.from(ids), Float32Array.of(0)]);
      for (const [index, data] of made.entries()) expect(data).toBe(results[0]?.[index]);
    }
  });

  it('write results into the memory passed as `into`, also into the memory of the values', async () => {
    const inPlace = ids.map((id) => ({ a: Float32Array.of(id), b: [Float32Array.of(1, id)] }));
    const results = await each(strategyOf(replicas), async (replica) => {
      const value = inPlace[replica.replicaIdInSyncGroup] as (typeof inPlace)[0];
      return replica.allReduce('sum', value, { into: value });
    });
    for (const [id, value] of inPlace.entries()) {
      expect(value).toEqual({ a: Float32Array.of(total), b: [Float32Array.of(replicas, total)] });
      expect((results[id] as unknown as { a: Tensor }).a.data).toBe(value.a);
    }
  });
});

describe('allReduce', () => {
  it('names the fields that a tensor-like value lacks', async () => {
    const incomplete = { grads: [{ data: new Float32Array(2), device: 'cpu:0' }] };
    const call = each(two, (replica) => replica.allReduce('sum', incomplete as never));
    await expect(call).rejects.toThrow('replica 0: value has data but no dtype and no shape');
  });

  it.each([
    ['sum', [3, 30]],
    ['MEAN', [1.5, 15]],
    ['Min', [1, 10]],
    ['max', [2, 20]],
    ['product', [2, 200]],
  ] as const)('reduces with %s', async (op, expected) => {
    const [first, second] = await each(two, (replica) => {
      const factor = replica.replicaIdInSyncGroup + 1;
      return replica.allReduce(op as 'sum', Float32Array.of(factor, 10 * factor));
    });
    expect(toNumbers(first as Tensor)).toEqual(expected);
    expect(toNumbers(second as Tensor)).toEqual(expected);
  });

  it('returns the same result with any packing options', async () => {
    const values = Array.from({ length: 7 }, (_, index) => Float32Array.from({ length: index }, (_, at) => index + at));
    const reduce = async (options: object) => each(two, (replica) => replica.allReduce('sum', values, options));
    const plain = await reduce({});
    expect((plain[0] as unknown as Tensor[]).map(({ data }) => data)).toEqual(
      values.map((value) => value.map((x) => 2 * x)),
    );
    for (const options of [
      { bytesPerPack: 1 },
      { bytesPerPack: 20 },
      new CommunicationOptions({ bytesPerPack: 8 }),
      { options: new CommunicationOptions({ bytesPerPack: 8 }) },
    ])
      expect(await reduce(options)).toEqual(plain);
  });

  it('accepts tensor carriers, and structures without leaves', async () => {
    const carrier = { [tensorSymbol]: () => Float32Array.of(2) };
    const [result] = await each(two, (replica) => replica.allReduce('sum', [carrier, [], {}]));
    expect(result).toMatchObject([{ data: Float32Array.of(4) }, [], {}]);
  });

  it('separates the memory for dense results from slices', async () => {
    const slices = new IndexedSlices(Float32Array.of(1), Int32Array.of(0));
    const into = { dense: new Float32Array(1) };
    const results = await each(two, (replica) =>
      replica.replicaIdInSyncGroup === 0
        ? replica.allReduce('sum', { slices, dense: Float32Array.of(1) }, { into })
        : replica.allReduce('sum', { slices, dense: Float32Array.of(1) }),
    );
    expect(into.dense).toEqual(Float32Array.of(2));
    expect(results).toHaveLength(2);
  });

  it.each([
    ['an unknown op', 'most', 1, {}, 'ERR_COLL_VALUE'],
    ['a value that is not a tensor', 'sum', ['text'], {}, 'ERR_COLL_VALUE'],
    ['bad options', 'sum', 1, { bytesPerPack: -1 }, 'ERR_COLL_VALUE'],
    ['options that are not an object', 'sum', 1, 5, 'ERR_COLL_VALUE'],
    ['too little memory', 'sum', Float32Array.of(1, 2), { into: new Float32Array(1) }, 'ERR_COLL_BUFFER'],
    ['too much memory', 'sum', Float32Array.of(1), { into: new Float32Array(2) }, 'ERR_COLL_BUFFER'],
    ['both into and sharedResult', 'sum', 1, { into: new Float64Array(1), sharedResult: true }, 'ERR_COLL_VALUE'],
    ['too few into tensors', 'sum', [1, 2], { into: [new Float64Array(1)] }, 'ERR_COLL_BUFFER'],
    [
      "memory of the value's dtype for the mean of integers",
      'mean',
      new Int32Array(1),
      { into: new Int32Array(1) },
      'ERR_COLL_BUFFER',
    ],
    ['the mean of bool', 'mean', tensor([1], { dtype: 'bool' }), {}, 'ERR_COLL_REFUSED'],
    ['the minimum of slices', 'min', new IndexedSlices(new Float32Array(1), Int32Array.of(0)), {}, 'ERR_COLL_REFUSED'],
  ])('refuses %s before any replica waits', async (_, op, value, options, code) => {
    const failing = two.run(async (replica) => {
      if (replica.replicaIdInSyncGroup === 1) throw new Error('replica 0 should have failed first');
      return replica.allReduce(op as 'sum', value as never, options as never);
    });
    await expect(failing).rejects.toMatchObject({ name: 'ValueError', code, rank: 0 });
  });

  it('refuses one buffer for two results', async () => {
    const memory = new Float32Array(3);
    const into = [memory.subarray(0, 2), memory.subarray(1, 3)];
    const value = [new Float32Array(2), new Float32Array(2)];
    await expect(two.run((replica) => replica.allReduce('sum', value, { into }))).rejects.toThrow(/passed twice/);
    const beside = [memory.subarray(0, 1), memory.subarray(1, 3)];
    const fitting = [new Float32Array(1), new Float32Array(2)];
    const shared = two.run((replica) =>
      replica.replicaIdInSyncGroup === 0
        ? replica.allReduce('sum', fitting, { into: beside })
        : replica.allReduce('sum', fitting),
    );
    await expect(shared).resolves.toBeDefined();
  });

  it.each([
    ['dtypes', [Float32Array.of(1), Float64Array.of(1)], 'InternalError', 'ERR_COLL_DTYPE_MISMATCH'],
    ['lengths', [Float32Array.of(1), Float32Array.of(1, 2)], 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'],
    [
      'shapes',
      [tensor(new Float32Array(2), { shape: [2, 1] }), tensor(new Float32Array(2), { shape: [1, 2] })],
      'InvalidArgumentError',
      'ERR_COLL_SHAPE_MISMATCH',
    ],
    ['structures', [[1, 2], [1]], 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'],
    ['keys', [{ a: 1 }, { b: 1 }], 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'],
    ['forms', [{ a: 1 }, [1]], 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'],
  ] as const)('refuses different %s', async (_, values, name, code) => {
    const failing = two.run((replica) => replica.allReduce('sum', values[replica.replicaIdInSyncGroup] as never));
    await expect(failing).rejects.toMatchObject({ name, code, rank: 1 });
  });

  it('refuses replicas of which only some deduplicate', async () => {
    const failing = two.run((replica) =>
      replica.allReduce('sum', Float32Array.of(1), { deduplicate: replica.replicaIdInSyncGroup === 1 }),
    );
    await expect(failing).rejects.toMatchObject({ name: 'InternalError', code: 'ERR_COLL_MISMATCH' });
  });
});

describe('allGather and broadcast', () => {
  const slices = new IndexedSlices(new Float32Array(1), Int32Array.of(0));

  it('refuse slices', async () => {
    await expect(two.run((replica) => replica.allGather([slices], 0))).rejects.toBeInstanceOf(NotImplementedError);
    await expect(two.run((replica) => replica.broadcast(slices as never))).rejects.toBeInstanceOf(NotImplementedError);
  });

  it('refuse axes and roots that are out of range', async () => {
    await expect(two.run((replica) => replica.allGather(Float32Array.of(1), 1))).rejects.toBeInstanceOf(RangeError);
    await expect(two.run((replica) => replica.allGather(1, 0))).rejects.toMatchObject({ name: 'ValueError' });
    for (const root of [2, -1, 0.5, '0'])
      await expect(two.run((replica) => replica.broadcast(1, root as number))).rejects.toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_REFUSED',
      });
  });

  it('refuse shapes that do not match', async () => {
    const broadcast = two.run((replica) => replica.broadcast(new Float32Array(replica.replicaIdInSyncGroup + 1)));
    await expect(broadcast).rejects.toMatchObject({ name: 'InvalidArgumentError' });
    const gather = two.run((replica) => {
      const columns = replica.replicaIdInSyncGroup + 1;
      return replica.allGather(tensor(new Float32Array(columns), { shape: [1, columns] }), 0);
    });
    await expect(gather).rejects.toMatchObject({ name: 'InvalidArgumentError' });
  });

  it('write a broadcast into the memory passed as `into`', async () => {
    const weights = [Float32Array.of(1, 2), Float32Array.of(3, 4)];
    await two.run((replica) => {
      const mine = weights[replica.replicaIdInSyncGroup] as Float32Array;
      return replica.broadcast(mine, 1, { into: mine });
    });
    expect(weights).toEqual([Float32Array.of(3, 4), Float32Array.of(3, 4)]);
  });
});

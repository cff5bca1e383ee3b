import {
  createRegistry,
  type Mirrored,
  PerReplica,
  portableWorld,
  ReduceOp,
  registry,
  type Tensor,
  tensor,
} from '@coll/core';
import { expect, it } from 'vitest';
import { DirectAllReduce } from './direct-all-reduce.js';
import { direct } from './plugin.js';

const devicesOf = (count: number) => Array.from({ length: count }, (_, index) => `cpu:${index}`);

function spread(count: number, valueAt: (rank: number) => readonly number[]): PerReplica<Tensor> {
  return new PerReplica(devicesOf(count).map((device, rank) => tensor(Float32Array.from(valueAt(rank)), { device })));
}

async function sumOf(ops: DirectAllReduce, value: PerReplica<Tensor>): Promise<Tensor[]> {
  return [...((await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>).values];
}

it.each([2, 3, 4, 7, 8])('adds in rank order over %i devices, with the same bits everywhere', async (count) => {
  for (const length of [0, 1, count - 1, 2 * count + 1]) {
    const value = spread(count, (rank) => Array.from({ length }, (_, index) => 0.1 * (rank + 1) ** index));
    const expected = value.values[0]?.data.slice() as Float32Array;
    for (const { data } of value.values.slice(1)) {
      for (let index = 0; index < length; index++) (expected[index] as number) += data[index] as number;
    }
    const sums = await sumOf(new DirectAllReduce(), value);
    expect(sums).toEqual(devicesOf(count).map((device) => tensor(expected, { device })));
  }
});

it('has bits that do not depend on packing', async () => {
  const lengths = [5, 0, 1, 17];
  const values = lengths.map((length) =>
    spread(3, (rank) => Array.from({ length }, (_, index) => 0.3 * rank + 1 / (index + 1))),
  );
  const pairs = values.map((value) => [value, value] as const);
  const plain = await new DirectAllReduce({ numPacks: 0 }).batchReduce(ReduceOp.MEAN, pairs);
  for (const packing of [{}, { numPacks: 2 }, { numPacks: 0, aggSmallGradsMaxBytes: 32 }]) {
    expect(await new DirectAllReduce(packing).batchReduce(ReduceOp.MEAN, pairs)).toEqual(plain);
  }
  expect(await new DirectAllReduce().batchReduce(ReduceOp.MEAN, pairs, { bytesPerPack: 24 })).toEqual(plain);
});

it('falls back on reduction to one device for other destinations, and tells so', async () => {
  const ops = new DirectAllReduce();
  const sum = (await ops.reduce(
    ReduceOp.SUM,
    spread(2, () => [1, 2]),
    'cpu:5',
  )) as Tensor;
  expect([...sum.data]).toEqual([2, 4]);
  expect(ops.explain()).toMatchObject({
    name: 'direct',
    notes: [expect.stringContaining('reduction-to-one serves it')],
  });
});

it('refuses a negative number of packs', () => {
  expect(() => new DirectAllReduce({ numPacks: -1 })).toThrow(
    expect.objectContaining({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: 'direct all-reduce: numPacks must be 0 or more, not -1',
    }),
  );
});

it('is made by its plug-in, for a world too', async () => {
  const known = createRegistry();
  known.register(direct);
  expect(await known.create('direct', { numPacks: 2 })).toBeInstanceOf(DirectAllReduce);
  await expect(known.create('direct', { numPacks: -1 })).rejects.toMatchObject({ name: 'ValueError' });
  const ops = await known.create('auto', undefined, portableWorld(devicesOf(2)));
  const results = await Promise.all([0, 1].map((rank) => ops.allReduce(ReduceOp.SUM, Int8Array.of(rank + 1), rank)));
  expect((results as Tensor[]).map(({ data, device }) => [data[0], device])).toEqual([
    [3, 'cpu:0'],
    [3, 'cpu:1'],
  ]);
});

it('is found in its module, and registered by the entry point for that', async () => {
  expect(await import(/* @vite-ignore */ direct.module)).toMatchObject({ direct: { name: 'direct' } });
  await import('./register.js');
  expect(registry.get('direct')).toBe(direct);
});

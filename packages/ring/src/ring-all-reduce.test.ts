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
import { describe, expect, it } from 'vitest';
import { ring } from './plugin.js';
import { RingAllReduce, type RingOptions } from './ring-all-reduce.js';

const devicesOf = (count: number) => Array.from({ length: count }, (_, index) => `cpu:${index}`);
const ramp = (length: number, factor: number) => Array.from({ length }, (_, index) => factor * (index + 1));

function spread(count: number, valueAt: (rank: number) => readonly number[]): PerReplica<Tensor> {
  return new PerReplica(devicesOf(count).map((device, rank) => tensor(Float32Array.from(valueAt(rank)), { device })));
}

async function reduced(op: ReduceOp, value: PerReplica<Tensor>, options?: RingOptions): Promise<readonly Tensor[]> {
  return ((await new RingAllReduce(options).reduce(op, value, value)) as Mirrored<Tensor>).values;
}

describe('reduce', () => {
  it.each([2, 3, 4, 7, 8])('agrees with plain arithmetic over %i devices', async (count) => {
    for (const length of [0, 1, count - 1, 2 * count + 1]) {
      const value = spread(count, (rank) => ramp(length, rank + 1));
      const total = (count * (count + 1)) / 2;
      const sums = devicesOf(count).map((device) => tensor(Float32Array.from(ramp(length, total)), { device }));
      expect(await reduced(ReduceOp.SUM, value)).toEqual(sums);
      const largest = devicesOf(count).map((device) => tensor(Float32Array.from(ramp(length, count)), { device }));
      expect(await reduced(ReduceOp.MAX, value)).toEqual(largest);
    }
  });

  it('ends with the same bits on all devices', async () => {
    const value = spread(5, (rank) => ramp(23, 0.1 * 3 ** rank));
    const [first, ...others] = await reduced(ReduceOp.MEAN, value);
    for (const { data } of others) expect(data).toEqual(first?.data);
  });

  it('adds each element in the order of the ring that its chunk travels', async () => {
    // One chunk a rank; chunk k begins at the rank after its owner, which is rank k.
    const terms = [1e8, 1, -1e8];
    const value = spread(3, (rank) => [terms[rank], terms[rank], terms[rank]] as number[]);
    const [sum] = await reduced(ReduceOp.SUM, value);
    const fold = (order: readonly number[]) =>
      order.map((rank) => terms[rank] as number).reduce((a, b) => Math.fround(a + b));
    expect([...(sum?.data ?? [])]).toEqual(
      [
        [1, 2, 0],
        [2, 0, 1],
        [0, 1, 2],
      ].map(fold),
    );
  });
});

describe('subChunks', () => {
  it.each([1, 2, 3, 4])('%i run side by side and change no sum of integers', async (subChunks) => {
    const value = spread(4, (rank) => ramp(19, rank + 1));
    const [sum] = await reduced(ReduceOp.SUM, value, { subChunks });
    expect([...(sum?.data ?? [])]).toEqual(ramp(19, 10));
  });

  it.each([0, -1, 1.5])('is 1 or more, not %d', (subChunks) => {
    expect(() => new RingAllReduce({ subChunks })).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
  });

  it('beyond the number of devices leave the value to reduction to one device, which is told', async () => {
    const ops = new RingAllReduce({ subChunks: 3 });
    const value = spread(2, () => [1, 2]);
    const { values } = (await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    expect(values.map(({ data }) => [...data])).toEqual([
      [2, 4],
      [2, 4],
    ]);
    expect(ops.explain().notes).toEqual([
      '3 sub-chunks need at least as many ranks a worker, but there are 2; reduction-to-one serves it',
    ]);
  });
});

describe('numPacks', () => {
  it.each([0, 1, 2, 5])('of %i changes no sum of integers', async (numPacks) => {
    const values = [3, 0, 8].map((length) => spread(3, (rank) => ramp(length, rank + 1)));
    const pairs = values.map((value) => [value, value] as const);
    const results = (await new RingAllReduce({ numPacks }).batchReduce(ReduceOp.SUM, pairs)) as Mirrored<Tensor>[];
    expect(results.map(({ primary }) => [...primary.data])).toEqual([3, 0, 8].map((length) => ramp(length, 6)));
  });

  it('is 0 or more', () => {
    expect(() => new RingAllReduce({ numPacks: -1 })).toThrow(
      expect.objectContaining({ name: 'ValueError', message: 'ring all-reduce: numPacks must be 0 or more, not -1' }),
    );
  });
});

describe('the plug-in', () => {
  it('makes ops with options, for a world too', async () => {
    const known = createRegistry();
    known.register(ring);
    const ops = await known.create('ring', { subChunks: 2 }, portableWorld(devicesOf(2)));
    expect(ops).toBeInstanceOf(RingAllReduce);
    const results = await Promise.all([0, 1].map((rank) => ops.allReduce(ReduceOp.SUM, Int8Array.of(rank + 1), rank)));
    expect((results as Tensor[]).map(({ data, device }) => [data[0], device])).toEqual([
      [3, 'cpu:0'],
      [3, 'cpu:1'],
    ]);
    await expect(known.create('ring', { subChunks: 0 })).rejects.toMatchObject({ name: 'ValueError' });
  });

  it('is found in its module, and registered by the entry point for that', async () => {
    expect(await import(/* @vite-ignore */ ring.module)).toMatchObject({ ring: { name: 'ring' } });
    await import('./register.js');
    expect(registry.get('ring')).toBe(ring);
  });
});

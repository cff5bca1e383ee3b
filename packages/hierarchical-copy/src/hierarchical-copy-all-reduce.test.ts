import {
  createRegistry,
  jsEngine,
  type LogSink,
  type Mirrored,
  type PackingOptions,
  PerReplica,
  ReduceOp,
  registry,
  setLogSink,
  type Tensor,
  tensor,
} from '@coll/core';
import { createThreadGroup, threadWorld } from '@coll/core/plugin';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HierarchicalCopyAllReduce } from './hierarchical-copy-all-reduce.js';
import { hierarchicalCopy } from './plugin.js';

const devicesOf = (count: number) => Array.from({ length: count }, (_, index) => `cpu:${index}`);

// Numbers whose float32 sum depends on the order of addition.
const elements = (rank: number, length: number, seed: number) =>
  Float32Array.from({ length }, (_, index) => Math.sin(1 + rank * 13 + index * 7 + seed) * 10 ** ((rank + index) % 7));

function batchOf(count: number, lengths: readonly number[]): PerReplica<Tensor>[] {
  return lengths.map((length, seed) => {
    return new PerReplica(devicesOf(count).map((device, rank) => tensor(elements(rank, length, seed), { device })));
  });
}

/**
 * The expected sum of an element: each half is summed in float32 from left to right, then both sums
 * are added.
 */
function sumByHalves(terms: readonly number[], root: number): number {
  const half = Math.floor(terms.length / 2);
  const sum = (list: readonly number[]) => list.reduce((total, term) => Math.fround(total + term));
  const [first, second] = [terms.slice(0, half), terms.slice(half)];
  if (terms.length === 1) return terms[0] as number;
  return root < half ? Math.fround(sum(first) + sum(second)) : Math.fround(sum(second) + sum(first));
}

async function sums(options: PackingOptions, batch: readonly PerReplica<Tensor>[], bytesPerPack = 0) {
  await using ops = new HierarchicalCopyAllReduce({ ...options, engine: 'js' });
  const pairs = batch.map((value) => [value, value] as const);
  return (await ops.batchReduce(ReduceOp.SUM, pairs, { bytesPerPack })) as Mirrored<Tensor>[];
}

const lengths = [5, 0, 1, 17, 3, 8];

describe('HierarchicalCopyAllReduce', () => {
  it.each([2, 3, 4, 5, 6, 7, 8])('adds two halves of %i devices, with equal bits on all', async (count) => {
    const batch = batchOf(count, lengths);
    for (const numPacks of [0, 1, 4]) {
      for (const [index, { values }] of (await sums({ numPacks }, batch)).entries()) {
        const parts = batch[index]?.values as readonly Tensor[];
        const expected = Array.from({ length: lengths[index] as number }, (_, place) =>
          sumByHalves(
            parts.map(({ data }) => Number(data[place])),
            0,
          ),
        );
        for (const { data } of values) expect([...data]).toEqual(expected);
      }
    }
  });

  it('returns the same bits for a single controller and for replicas in threads, with any packing', async () => {
    const count = 5;
    const batch = batchOf(count, lengths);
    const options = [{}, { numPacks: 3 }, { numPacks: 0 }, { numPacks: 0, aggSmallGradsMaxBytes: 32 }];
    for (const packing of options) {
      for (const bytesPerPack of [0, 40]) {
        const group = createThreadGroup({ size: count, spins: 0 });
        const worlds = devicesOf(count).map((_, rank) => threadWorld(group, rank, devicesOf(count), jsEngine));
        const ops = worlds.map((world) => new HierarchicalCopyAllReduce(packing, world));
        const ofThreads = await Promise.all(
          ops.map((own, rank) =>
            own.allReduce(
              ReduceOp.SUM,
              batch.map(({ values }) => values[rank] as Tensor),
              rank,
              { bytesPerPack },
            ),
          ),
        );
        const ofController = await sums(packing, batch, bytesPerPack);
        ofThreads.forEach((results, rank) => {
          expect(results).toEqual(ofController.map(({ values }) => values[rank]));
        });
      }
    }
  });

  it('refuses a negative number of packs, and names the class in the error', () => {
    for (const numPacks of [-1, 1.5, '2' as never]) {
      expect(() => new HierarchicalCopyAllReduce({ numPacks })).toThrow(
        expect.objectContaining({
          name: 'ValueError',
          code: 'ERR_COLL_VALUE',
          message: expect.stringMatching(/^HierarchicalCopyAllReduce: numPacks must be 0 or more, got /),
        }),
      );
    }
  });
});

describe('gather of HierarchicalCopyAllReduce', () => {
  const logged: string[] = [];
  const sink: LogSink = (level, message) => {
    logged.push(`${level} ${message}`);
  };
  beforeEach(() => setLogSink(sink));
  afterEach(() => setLogSink(undefined));

  it('warns that reduction to one device is used instead', async () => {
    const ops = new HierarchicalCopyAllReduce();
    const value = new PerReplica(devicesOf(2).map((device, rank) => tensor(Float32Array.of(rank), { device })));
    const gathered = (await ops.gather(value, value, 0)) as Mirrored<Tensor>;
    expect(gathered.values.map(({ data }) => [...data])).toEqual([
      [0, 1],
      [0, 1],
    ]);
    expect(logged).toContainEqual(
      expect.stringMatching(/^warn hierarchical-copy: hierarchical-copy does not implement gather/),
    );
    expect(ops.explain().notes).toContainEqual(expect.stringContaining('hierarchical-copy does not implement gather'));
  });
});

describe('the hierarchical-copy plug-in', () => {
  it('creates ops with options', async () => {
    const known = createRegistry();
    known.register(hierarchicalCopy);
    expect(await known.create('hierarchical-copy', { numPacks: 2 })).toBeInstanceOf(HierarchicalCopyAllReduce);
    await expect(known.create('hierarchical-copy', { numPacks: -1 })).rejects.toMatchObject({ name: 'ValueError' });
  });

  it('refuses a number instead of options', () => {
    expect(() => new HierarchicalCopyAllReduce(2 as never)).toThrow(
      'options must be an object, new HierarchicalCopyAllReduce({ ',
    );
  });

  it('is exported by its module, and registered by @coll/hierarchical-copy/register', async () => {
    expect(await import(/* @vite-ignore */ hierarchicalCopy.module)).toMatchObject({
      hierarchicalCopy: { name: 'hierarchical-copy' },
    });
    await import('./register.js');
    expect(registry.get('hierarchical-copy')).toBe(hierarchicalCopy);
  });
});

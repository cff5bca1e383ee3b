import { tensor } from '@coll/core';
import { direct } from '@coll/direct';
import { batches } from '@coll/jax-js';
import { MirroredStrategy, type ReplicaContext } from '@coll/strategy';
import { numpy as np } from '@jax-js/jax';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { resultsOf } from './fixtures/results-of.ts';

const strategyOf = (replicas: number) =>
  new MirroredStrategy({ devices: Array.from({ length: replicas }, (_, id) => `cpu:${id}`), crossDeviceOps: direct });

/** What each replica returns, or the error that it gets. */
async function onEach<Result>(replicas: number, replica: (context: ReplicaContext, id: number) => Promise<Result>) {
  await using strategy = strategyOf(replicas);
  return await resultsOf(strategy, replica);
}

const counting = (rows: number) => Float32Array.from({ length: rows }, (_, row) => row);

it('parts of all replicas are the batches of one, whatever the numbers of rows and replicas', async () => {
  const numbers = { replicas: fc.integer({ min: 1, max: 4 }), batchSize: fc.integer({ min: 4, max: 9 }) };
  const drawn = fc.record({
    ...numbers,
    rows: fc.integer({ min: 9, max: 40 }),
    seed: fc.option(fc.nat()),
    drops: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(drawn, async ({ replicas, batchSize, rows, seed, drops }) => {
      const options = { batchSize, seed: seed ?? undefined, remainder: drops ? 'drop' : 'exact' } as const;
      const partsOf = async (context: ReplicaContext) => {
        const { steps, epoch } = await batches(context, [counting(rows)], options);
        const epochs = [0, 1].map((number) =>
          Array.from(epoch(number), ([part]) => Array.from((part as np.Array).dataSync())),
        );
        for (const parts of epochs) expect(parts.length).toBe(steps);
        return epochs;
      };
      const [alone] = (await onEach(1, partsOf)) as number[][][][];
      const together = (await onEach(replicas, partsOf)) as number[][][][];
      for (const [epoch, whole] of alone?.entries() ?? [])
        for (const [step, batch] of whole.entries()) {
          // Row i of a batch is in the part of replica i mod N.
          const merged = batch.map((_, i) => together[i % replicas]?.[epoch]?.[step]?.[Math.floor(i / replicas)]);
          expect(merged).toEqual(batch);
        }
      const used = drops ? Math.floor(rows / batchSize) * batchSize : rows;
      for (const epoch of alone ?? []) {
        const all = epoch.flat();
        expect(new Set(all).size).toBe(used);
        if (seed === null) expect(all).toEqual([...counting(used)]);
      }
    }),
    { numRuns: 30 },
  );
});

it('an epoch has an order of its own, which depends on the seed', async () => {
  const [orders] = (await onEach(1, async (context) => {
    const orderOf = async (seed: number, epoch: number) => {
      const { epoch: parts } = await batches(context, { y: counting(20) }, { batchSize: 20, seed });
      return String([...parts(epoch)][0]?.y.js());
    };
    return [await orderOf(1, 0), await orderOf(1, 1), await orderOf(2, 0), await orderOf(1, 0)];
  })) as string[][];
  expect(new Set(orders).size).toBe(3);
  expect(orders?.[3]).toBe(orders?.[0]);
});

it('batches have the structure of the data, with rows of any shape and dtype', async () => {
  const kept = np.array([[[1, 2]], [[3, 4]], [[5, 6]]]);
  const results = await onEach(2, async (context) => {
    const data = {
      images: kept.ref,
      more: [tensor(Float32Array.of(1, 2, 3, 4, 5, 6), { shape: [3, 2] }), tensor([1, 0, 1], { dtype: 'bool' })],
      labels: Int32Array.of(7, 8, 9),
      ids: Uint32Array.of(1, 2, 3),
    };
    const { epoch } = await batches(context, data, { batchSize: 3 });
    const [{ images, more, labels, ids }] = [...epoch(0)] as never as [
      Record<'images' | 'labels' | 'ids', np.Array> & { more: np.Array[] },
    ];
    return [images, ...more, labels, ids].map((array) => [array.dtype, array.js()]);
  });
  expect(results).toEqual([
    [
      ['float32', [[[1, 2]], [[5, 6]]]],
      [
        'float32',
        [
          [1, 2],
          [5, 6],
        ],
      ],
      ['bool', [true, true]],
      ['int32', [7, 9]],
      ['uint32', [1, 3]],
    ],
    [
      ['float32', [[[3, 4]]]],
      ['float32', [[3, 4]]],
      ['bool', [false]],
      ['int32', [8]],
      ['uint32', [2]],
    ],
  ]); // prettier-ignore
  expect(kept.refCount).toBe(1);
});

it('different data or options get the same error on all replicas', async () => {
  const message =
    /^ERR_COLL_VALUE replicas pass different data or options to batches, .*Seed the shuffle; .*broadcast\(context, data\)$/;
  const both = [expect.stringMatching(message), expect.stringMatching(message)];
  expect(await onEach(2, (context, id) => batches(context, [Float32Array.of(1, 2, id)], { batchSize: 2 }))).toEqual(
    both,
  );
  expect(await onEach(2, (context, id) => batches(context, [counting(3)], { batchSize: 2, seed: id }))).toEqual(both);
  expect(await onEach(2, (context, id) => batches(context, [counting(3 + id)], { batchSize: 2 }))).toEqual(both);
});

it('data and options that make no sense are refused', async () => {
  const cases: [data: object, options: object | undefined, message: RegExp][] = [
    [[counting(4)], undefined, /batchSize must be a whole number from 2, the number of replicas, got undefined/],
    [[counting(4)], { batchSize: 1 }, /batchSize must be a whole number from 2, the number of replicas, got 1/],
    [[counting(4)], { batchSize: 2, shuffle: true }, /unknown option "shuffle"/],
    [[counting(4)], { batchSize: 2, seed: 0.5 }, /seed must be a whole number, got 0.5/],
    [[counting(4)], { batchSize: 2, remainder: 'pad' }, /remainder must be 'exact' or 'drop', got "pad"/],
    [[counting(1)], { batchSize: 2 }, /data must have at least 2 rows, one per replica, got 1/],
    [
      [counting(3)],
      { batchSize: 4, remainder: 'drop' },
      /data must have at least 4 rows, with remainder: 'drop', a batch, got 3/,
    ],
    [[], { batchSize: 2 }, /data must have at least one row, got none/],
    [{ y: np.array(1) }, { batchSize: 2 }, /data.y must have rows, got a scalar/],
    [
      { x: counting(8), y: counting(4) },
      { batchSize: 2 },
      /the same number of rows, got 8 in data.x, 4 in data.y; tensor\(values, \{ shape \}\)/,
    ],
    [
      { y: Uint8Array.of(1, 2) },
      { batchSize: 2 },
      /data.y is a Uint8Array, whose elements jax-js does not have; convert it, /,
    ],
    [{ y: tensor(Uint8Array.of(1, 2)) }, { batchSize: 2 }, /data.y is a tensor of uint8, which jax-js does not have; /],
    [{ y: [1, 2] }, { batchSize: 2 }, /data.y\[0\] must be an array of jax-js, a typed array, or tensor\(.*got 1/],
  ];
  for (const [data, options, message] of cases) {
    const results = await onEach(2, (context) => batches(context, data, options as never));
    expect(results).toEqual([expect.stringMatching(message), expect.stringMatching(message)]);
  }
  const [epoch] = await onEach(1, async (context) => {
    const { epoch } = await batches(context, [counting(4)], { batchSize: 2 });
    return [...epoch(-1)];
  });
  expect(epoch).toMatch(/epoch must be a whole number from 0, got -1/);
});

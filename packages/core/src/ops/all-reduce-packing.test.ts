import { directAlgorithm } from '@coll/direct';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ringAlgorithm } from '@coll/ring';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { arbitraryShape, arbitraryTensor } from '../../test/arbitrary-tensor.js';
import { keepLengths, spread, TestedAllReduce } from '../../test/tested-all-reduce.js';
import { thrown } from '../../test/thrown.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { threadWorld } from '../engines/worlds.js';
import { JsCommunicator, jsEngine } from '../js/js-engine.js';
import { combine } from '../kernels/arithmetic.js';
import type { PackingOptions } from '../packing/arrangement.js';
import { createThreadGroup } from '../threads/thread-group.js';
import { type Mirrored, PerReplica } from '../values/distributed-values.js';
import { dtypes, isHalf } from '../values/dtype.js';
import { toNumbers } from '../values/element.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';

const ramp = (length: number) => Array.from({ length }, (_, index) => index);

/** Number of elements of each all-reduce, in order. */
const lengths: number[] = [];
vi.spyOn(JsCommunicator.prototype, 'run').mockImplementation(keepLengths(lengths));
beforeEach(() => {
  lengths.length = 0;
});

/** A tensor for comparison. Half types are converted to numbers, because the bits of a NaN are not promised. */
function readable({ data, dtype, shape, device }: Tensor) {
  return { elements: isHalf(dtype) ? toNumbers({ data, dtype }) : [...data], dtype, shape, device };
}

async function lengthsOf(packing: PackingOptions, bytesPerPack = 0, counts = [2, 3, 6]): Promise<number[]> {
  const pairs = counts.map((count) => spread(ramp(count), ramp(count))).map((item) => [item, item] as const);
  const results = await new TestedAllReduce(packing).batchReduce(ReduceOp.SUM, pairs, { bytesPerPack });
  const sums = counts.map((count) => ramp(count).map((element) => 2 * element));
  expect(results.map((result) => toNumbers((result as Mirrored<Tensor>).primary))).toEqual(sums);
  return lengths;
}

it('packing joins a batch into one pack by default', async () => {
  expect(await lengthsOf({})).toEqual([11]);
});

it('packing splits a batch into the requested number of packs', async () => {
  expect(await lengthsOf({ numPacks: 3 })).toEqual([3, 3, 5]);
});

it('packing reduces each value by itself for 0 packs', async () => {
  expect(await lengthsOf({ numPacks: 0 })).toEqual([2, 3, 6]);
});

it('numPacks 0 with aggSmallGradsMaxBytes joins only small neighbouring float32 tensors', async () => {
  const floats = [2, 3, 6].map(
    (count) => new PerReplica(['cpu:0', 'cpu:1'].map((device) => zeros('float32', [count], device))),
  );
  const ops = new TestedAllReduce({ numPacks: 0, aggSmallGradsMaxBytes: 12 });
  await ops.batchReduce(
    ReduceOp.SUM,
    floats.map((item) => [item, item] as const),
  );
  expect(lengths).toEqual([5, 6]);
  expect(await lengthsOf({ numPacks: 0, aggSmallGradsMaxBytes: 12 })).toEqual([5, 6, 2, 3, 6]);
});

it('bytesPerPack of a call overrides numPacks, and packs by bytes with the last values first', async () => {
  expect(await lengthsOf({ numPacks: 3 }, 24)).toEqual([9, 2]);
  lengths.length = 0;
  expect(await lengthsOf({ numPacks: 0 }, 1)).toEqual([6, 3, 2]);
});

it('packing changes no result', async () => {
  const arbitraryBatch = fc
    .array(fc.tuple(fc.constantFrom(...dtypes), arbitraryShape), { minLength: 1, maxLength: 5 })
    .chain((forms) =>
      fc.tuple(
        ...forms.map(([dtype, shape]) =>
          fc.tuple(...['cpu:0', 'cpu:1', 'cpu:2'].map((device) => arbitraryTensor(dtype, shape, device))),
        ),
      ),
    );
  const arbitraryPacking = fc.record({
    numPacks: fc.nat({ max: 4 }),
    aggSmallGradsMaxBytes: fc.nat({ max: 64 }),
    aggSmallGradsMaxGroup: fc.nat({ max: 4 }),
  });
  const bytes = fc.nat({ max: 64 });
  await fc.assert(
    fc.asyncProperty(arbitraryBatch, arbitraryPacking, bytes, async (batch, packing, bytesPerPack) => {
      const pairs = batch.map((tensors) => new PerReplica(tensors)).map((item) => [item, item] as const);
      const results = await new TestedAllReduce(packing).batchReduce(ReduceOp.SUM, pairs, { bytesPerPack });
      const expected = batch.map((tensors) => combine('sum', tensors));
      for (const [index, result] of results.entries()) {
        const copies = ['cpu:0', 'cpu:1', 'cpu:2'].map((device) => ({ ...expected[index], device }) as Tensor);
        expect((result as Mirrored<Tensor>).values.map(readable)).toEqual(copies.map(readable));
      }
    }),
  );
});

describe('replicas in threads', () => {
  const count = 3;
  const devices = ramp(count).map((index) => `cpu:${index}`);
  // Numbers whose sum depends on the order of addition, in tensors that are split or joined by packs.
  const batch = [5, 0, 3, 3, 17, 1, 64].map((length, seed) => {
    const elements = (rank: number) =>
      ramp(length).map((index) => Math.sin(rank + 7 * index + seed) * 10 ** (index % 9));
    return new PerReplica(devices.map((device, rank) => tensor(Float32Array.from(elements(rank)), { device })));
  });
  const packings: (PackingOptions & { readonly bytesPerPack?: number })[] = [
    {},
    { numPacks: 0 },
    { numPacks: 4 },
    { numPacks: 200 },
    { numPacks: 0, aggSmallGradsMaxBytes: 20, aggSmallGradsMaxGroup: 1 },
    { bytesPerPack: 1 },
    { bytesPerPack: 70 },
    { numPacks: 2, bytesPerPack: 1e9 },
  ];

  it.each([
    ['direct', directAlgorithm(), true],
    ['reduction to one', reductionToOneAlgorithm(), true],
    ['ring', ringAlgorithm(), false],
  ])('return the same bits as a single controller, for any packing options: %s', async (_, algorithm, isSame) => {
    const all: unknown[] = [];
    for (const { bytesPerPack = 0, ...packing } of packings) {
      const pairs = batch.map((value) => [value, value] as const);
      const ops = new TestedAllReduce({ ...packing, algorithm });
      const sums = (await ops.batchReduce(ReduceOp.SUM, pairs, { bytesPerPack })) as Mirrored<Tensor>[];
      const group = createThreadGroup({ size: count, spins: 0, maxBytes: 2 ** 20 });
      const results = await Promise.all(
        devices.map((_, rank) => {
          const world = threadWorld(group, rank, devices, jsEngine);
          const own = batch.map(({ values }) => values[rank] as Tensor);
          return new TestedAllReduce({ ...packing, algorithm, world }).allReduce('SUM', own, rank, { bytesPerPack });
        }),
      );
      expect(results).toEqual(devices.map((_, rank) => sums.map(({ values }) => values[rank])));
      all.push(sums);
    }
    if (isSame) for (const sums of all) expect(sums).toEqual(all[0]);
  });
});

it.each([0.5, Number.NaN, Number.POSITIVE_INFINITY, '2'])(
  'aggSmallGradsMaxBytes and aggSmallGradsMaxGroup refuse %o',
  (number) => {
    for (const name of ['aggSmallGradsMaxBytes', 'aggSmallGradsMaxGroup']) {
      expect(() => new TestedAllReduce({ [name]: number })).toThrow(
        expect.objectContaining({
          name: 'ValueError',
          message: expect.stringContaining(`${name} must be a whole number`),
        }),
      );
    }
  },
);

it.each([-1, 1.5, Number.NaN, '2'])('numPacks refuses %o and names the algorithm and the bound', (numPacks) => {
  expect(thrown(() => new TestedAllReduce({ numPacks: numPacks as never }))).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_VALUE',
    message: expect.stringMatching(/^TestedAllReduce: numPacks must be 0 or more, got /),
  });
});

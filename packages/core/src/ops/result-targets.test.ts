import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { describe, expect, it } from 'vitest';
import { keepCalls } from '../../test/keep-calls.js';
import { on, spread, TestedAllReduce } from '../../test/tested-all-reduce.js';
import { rejection } from '../../test/thrown.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { Mirrored, PerReplica } from '../values/distributed-values.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';

const values = [spread([1, 2], [30, 40]), spread([5], [6])];
const pairs = values.map((value) => [value, value] as const);
const memory = (dtype: 'int32' | 'float64' = 'int32') =>
  [2, 1].map((length) => new PerReplica([zeros(dtype, [length]), zeros(dtype, [length])]));

const makers = [
  ['an all-reduce', () => new TestedAllReduce()],
  ['an all-reduce in packs that split tensors', () => new TestedAllReduce({ numPacks: 2 })],
  ['reduction to one device', () => new ReductionToOneDevice()],
] as const;

describe.each(makers)('the memory that is passed to %s in the option `into`', (_, make) => {
  it('is overwritten by the results of each call', async () => {
    const ops = make();
    const into = memory();
    for (let step = 0; step < 2; step++) {
      const results = (await ops.batchReduce(ReduceOp.SUM, pairs, { into })) as Mirrored<Tensor>[];
      expect(results).toEqual([
        new Mirrored([on('cpu:0', 31, 42), on('cpu:1', 31, 42)]),
        new Mirrored([on('cpu:0', 11), on('cpu:1', 11)]),
      ]);
      results.forEach((result, index) => {
        expect(result.values.every(({ data }, place) => data === into[index]?.values[place]?.data)).toBe(true);
      });
    }
    expect(values[0]).toEqual(spread([1, 2], [30, 40]));
  });

  it('may be the values themselves, or an earlier result', async () => {
    const ops = make();
    const value = spread([1, 2], [30, 40]);
    const first = (await ops.reduce(ReduceOp.SUM, value, value, { into: value })) as Mirrored<Tensor>;
    expect(value).toEqual(spread([31, 42], [31, 42]));
    await ops.reduce(ReduceOp.MAX, spread([7, 0], [1, 9]), value, { into: first });
    expect(value).toEqual(spread([7, 9], [7, 9]));
  });

  it('must have the dtype of the result', async () => {
    const ops = make();
    const means = await ops.batchReduce(ReduceOp.MEAN, pairs, { into: memory('float64') });
    expect((means[0] as Mirrored<Tensor>).primary.data).toEqual(Float64Array.of(15.5, 21));
    expect(await rejection(ops.batchReduce(ReduceOp.MEAN, pairs, { into: memory() }))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_BUFFER',
    });
  });

  it('may be for other destinations than the devices of the value, or for a single device', async () => {
    const ops = make();
    const target = zeros('int32', [2]);
    const sum = (await ops.reduce(ReduceOp.SUM, values[0] as PerReplica<Tensor>, 'cpu:5', { into: target })) as Tensor;
    expect([sum.data === target.data, [...target.data]]).toEqual([true, [31, 42]]);
    const alone = zeros('int32', [1]);
    const copy = (await ops.reduce(ReduceOp.SUM, on('cpu:0', 8), 'cpu:0', { into: alone })) as Tensor;
    expect([copy.data === alone.data, [...alone.data], copy.device]).toEqual([true, [8], 'cpu:0']);
  });

  it('must be listed in the order of the destinations', async () => {
    const into = new PerReplica([zeros('int32', [2]), zeros('int32', [2])]);
    const value = values[0] as PerReplica<Tensor>;
    const result = await make().reduce(ReduceOp.SUM, value, ['cpu:1', 'cpu:0'], { into });
    const { devices, values: components } = result as Mirrored<Tensor>;
    expect(devices.map((device) => device.slice(-1))).toEqual(['1', '0']);
    expect(components.map(({ data }, index) => data === into.values[index]?.data)).toEqual([true, true]);
    expect(components.map(({ data }) => [...data])).toEqual([
      [31, 42],
      [31, 42],
    ]);
  });

  it('may be for a batch whose values have different destinations', async () => {
    const ops = make();
    const into = [zeros('int32', [1]), ...memory().slice(0, 1)];
    const [one, two] = values as [PerReplica<Tensor>, PerReplica<Tensor>];
    const batch = [[two, 'cpu:1'] as const, [one, one] as const];
    const [alone, both] = (await ops.batchReduce(ReduceOp.SUM, batch, { into })) as [Tensor, Mirrored<Tensor>];
    expect([[...alone.data], both.values.map(({ data }) => [...data])]).toEqual([
      [11],
      [
        [31, 42],
        [31, 42],
      ],
    ]);
    expect([
      alone.data === (into[0] as Tensor).data,
      both.primary.data === (into[1] as PerReplica<Tensor>).primary.data,
    ]).toEqual([true, true]);
  });

  it('must be undefined for a sparse value', async () => {
    const ops = make();
    const slices = (device: string) => new IndexedSlices(on(device, 3), tensor(Int32Array.of(1), { device }), [4]);
    const sparse = new PerReplica([slices('cpu:0'), slices('cpu:1')]);
    const batch = [[sparse, sparse] as const, ...pairs];
    const into = [undefined, ...memory()];
    const results = await ops.batchReduce(ReduceOp.SUM, batch, { into });
    expect((results[0] as Mirrored<IndexedSlices>).primary.values.data).toEqual(Int32Array.of(3, 3));
    expect((results[2] as Mirrored<Tensor>).values[1]?.data).toBe(into[2]?.values[1]?.data);
    for (const wrong of [[...memory(), undefined], [sparse, ...memory()], memory()]) {
      expect(await rejection(ops.batchReduce(ReduceOp.SUM, batch, { into: wrong }))).toMatchObject({
        code: 'ERR_COLL_BUFFER',
      });
    }
  });

  it('is refused before anything is written if it does not fit', async () => {
    const ops = make();
    const [first, second] = memory() as [PerReplica<Tensor>, PerReplica<Tensor>];
    const shared = zeros('int32', [2]);
    for (const into of [
      [first],
      [first, zeros('int32', [1])],
      [first, new PerReplica([zeros('int32', [2]), zeros('int32', [2])])],
      [new PerReplica([shared, shared]), second],
      [values[1], values[0]],
      first,
    ]) {
      const error = await rejection(ops.batchReduce(ReduceOp.SUM, pairs, { into: into as never }));
      expect(error).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_BUFFER',
        message: expect.stringMatching(/^into: /),
      });
    }
    expect([...first.values, ...second.values].every(({ data }) => data.every((element) => element === 0))).toBe(true);
    const both = ops.batchReduce(ReduceOp.SUM, pairs, { into: [first, second], sharedResult: true });
    expect(await rejection(both)).toMatchObject({ code: 'ERR_COLL_VALUE' });
  });
});

it('the collective itself writes into the memory passed as `into`, without a copy', async () => {
  const calls: string[] = [];
  const ops = new TestedAllReduce({ numPacks: 0, communicator: (_, engine) => keepCalls(engine, calls) });
  const value = spread([1], [2]);
  await ops.reduce(ReduceOp.SUM, value, value, { into: value });
  expect([calls, value]).toEqual([['all-reduce sum of 1'], spread([3], [3])]);
});

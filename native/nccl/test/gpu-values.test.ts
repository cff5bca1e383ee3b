import {
  IndexedSlices,
  Mirrored,
  PerReplica,
  ReduceOp,
  type Tensor,
  type TypedArray,
  tensor,
  toNumbers,
} from '@coll/core';
import { bufferOf, type DeviceBuffer, type Gpu, NcclAllReduce, toHost } from '@coll/nccl';
import { describe, expect, it } from 'vitest';
import { fourGpus } from './doubles.ts';
import { quietGpus } from './quiet-gpus.ts';

/** The numbers of a result, by component. */
async function numbersOf(result: unknown): Promise<number[][]> {
  const components = result instanceof Mirrored ? (result.values as Tensor[]) : [result as Tensor];
  return Promise.all(components.map(async (component) => toNumbers(await toHost(component))));
}

describe('NcclAllReduce of tensors in GPU memory', () => {
  const all = quietGpus();

  const on = (gpu: number, data: TypedArray, dtype: Tensor['dtype'] = 'float32') =>
    (all[gpu] as Gpu).upload(data, dtype);
  const onEach = async (count: number, dataOf: (rank: number) => TypedArray, dtype: Tensor['dtype'] = 'float32') =>
    new PerReplica(await Promise.all(Array.from({ length: count }, (_, rank) => on(rank, dataOf(rank), dtype))));
  const places = (result: unknown) => (result as Mirrored<Tensor>).values.map((item) => bufferOf(item).device);

  it.each([1, 2, 4])('reduces values on %i GPUs to results on the same GPUs, and keeps the inputs', async (count) => {
    await using ops = new NcclAllReduce();
    const value = await onEach(count, (rank) => Float32Array.of(rank, 10));
    const sum = await ops.reduce(ReduceOp.SUM, value, fourGpus.slice(0, count));
    const total = (count * (count - 1)) / 2;
    expect(await numbersOf(sum)).toEqual(Array.from({ length: count }, () => [total, 10 * count]));
    if (count > 1) expect(places(sum)).toEqual(fourGpus.slice(0, count));
    expect(await numbersOf(new Mirrored(value.values.map((buffer) => (buffer as DeviceBuffer).tensor())))).toEqual(
      Array.from({ length: count }, (_, rank) => [rank, 10]),
    );
  });

  it.each([
    [ReduceOp.MEAN, 'int32', Int32Array, 'float64', [0.5, 1.5]],
    [ReduceOp.MEAN, 'uint8', Uint8Array, 'float32', [0.5, 1.5]],
    [ReduceOp.MEAN, 'float64', Float64Array, 'float64', [0.5, 1.5]],
    [ReduceOp.MIN, 'int32', Int32Array, 'int32', [0, 1]],
    [ReduceOp.MAX, 'float32', Float32Array, 'float32', [1, 2]],
    [ReduceOp.PRODUCT, 'int8', Int8Array, 'int8', [0, 2]],
  ] as const)('returns the %s of values with dtype %s', async (op, dtype, Kind, resultDType, expected) => {
    await using ops = new NcclAllReduce();
    const value = await onEach(2, (rank) => Kind.of(rank, rank + 1), dtype);
    for (const destinations of [value, 'gpu:1'] as const) {
      const result = await ops.reduce(op, value, destinations);
      const components = result instanceof Mirrored ? result.values : [result];
      for (const component of components) {
        expect((component as Tensor).dtype).toBe(resultDType);
        expect(await numbersOf(component)).toEqual([expected]);
      }
    }
  });

  it.each([
    ['uint8', Uint8Array, 'float32', 200],
    ['int32', Int32Array, 'float64', 2 ** 30],
  ] as const)(
    'adds %s values of a mean as floats, so that their sum does not wrap around',
    async (dtype, Kind, resultDType, number) => {
      await using ops = new NcclAllReduce();
      const value = await onEach(2, () => Kind.of(number, 1), dtype);
      for (const destinations of [value, 'gpu:1'] as const) {
        const result = await ops.reduce(ReduceOp.MEAN, value, destinations);
        const components = result instanceof Mirrored ? result.values : [result];
        for (const component of components) {
          expect((component as Tensor).dtype).toBe(resultDType);
          expect(await numbersOf(component)).toEqual([[number, 1]]);
        }
      }
    },
  );

  it('reduces a batch in one group call, with any dtypes and shapes, in order', async () => {
    await using ops = new NcclAllReduce();
    const floats = await onEach(2, (rank) => Float32Array.of(rank, 1, 2, 3));
    const square = new PerReplica(floats.values.map((buffer) => (buffer as DeviceBuffer).tensor([2, 2])));
    const integers = await onEach(2, () => BigInt64Array.of(5n), 'int64');
    const onHost = new PerReplica([0, 1].map((rank) => tensor(Float32Array.of(rank), { device: `gpu:${rank}` })));
    const values = [square, onHost, integers];
    const results = await ops.batchReduce(
      ReduceOp.SUM,
      values.map((value) => [value, value] as const),
    );
    expect(await Promise.all(results.map(numbersOf))).toEqual([
      [
        [1, 2, 4, 6],
        [1, 2, 4, 6],
      ],
      [[1], [1]],
      [[10], [10]],
    ]);
    expect((results[0] as Mirrored<Tensor>).primary.shape).toEqual([2, 2]);
    expect((results[1] as Mirrored<Tensor>).primary.memory).toBeUndefined();
  });

  it('writes the results into the memory passed as `into`, which may be the input itself', async () => {
    await using ops = new NcclAllReduce();
    const value = await onEach(2, (rank) => Float32Array.of(rank, 1));
    const into = await onEach(2, () => new Float32Array(2));
    const result = await ops.reduce(ReduceOp.SUM, value, value, { into });
    expect((result as Mirrored<Tensor>).values.map(bufferOf)).toEqual(into.values);
    await ops.reduce(ReduceOp.MEAN, value, value, { into: value });
    expect(await numbersOf(new Mirrored(value.values.map((buffer) => (buffer as DeviceBuffer).tensor())))).toEqual([
      [0.5, 1],
      [0.5, 1],
    ]);
    const alone = await onEach(1, () => Float32Array.of(3, 4));
    const target = await onEach(1, () => new Float32Array(2));
    await ops.reduce(ReduceOp.SUM, alone, alone, { into: target });
    expect([...(await (target.primary as DeviceBuffer).read())]).toEqual([3, 4]);
  });

  it('writes into different views of one buffer in a group call, and refuses results in overlapping views', async () => {
    await using ops = new NcclAllReduce();
    const whole = await onEach(2, (rank) => Float32Array.of(rank, 1, 2, 3));
    const views = (begin: number) =>
      new PerReplica(whole.values.map((buffer) => (buffer as DeviceBuffer).view(begin, 2)));
    const [first, second, between] = [views(0), views(2), views(1)];
    const pairs = (...values: readonly (typeof first)[]) => values.map((value) => [value, value] as const);
    await ops.batchReduce(ReduceOp.SUM, pairs(second, first), { into: [second, first] });
    expect([...(await (whole.primary as DeviceBuffer).read())]).toEqual([1, 2, 4, 6]);
    await ops.batchReduce(ReduceOp.SUM, pairs(first, first, between));
    for (const into of [first, between]) {
      const shared = ops.batchReduce(ReduceOp.SUM, pairs(first, into), { into: [undefined, into] });
      await expect(shared).rejects.toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_BUFFER',
        message: /^all-reduce sum and 1 more: two collectives of one group call .* share memory/,
      });
    }
    expect([...(await (whole.primary as DeviceBuffer).read())]).toEqual([1, 2, 4, 6]);
  });

  it('reduces to one GPU, to GPUs other than those of the values, and to the host', async () => {
    await using ops = new NcclAllReduce();
    const value = await onEach(4, (rank) => Float32Array.of(2 ** rank));
    const one = (await ops.reduce(ReduceOp.SUM, value, 'gpu:3')) as Tensor;
    expect([bufferOf(one).device, await numbersOf(one)]).toEqual(['gpu:3', [[15]]]);
    const mixed = await ops.reduce(ReduceOp.SUM, value, ['cpu:0', 'gpu:1', 'gpu:2']);
    expect(await numbersOf(mixed)).toEqual([[15], [15], [15]]);
    expect((mixed as Mirrored<Tensor>).values.map(({ memory }) => memory !== undefined)).toEqual([false, true, true]);
    expect(ops.explain().notes).toEqual([
      'values that are not on one GPU each, or not all-reduced, are combined on a single GPU',
    ]);
  });

  it('copies a value to GPUs and to the host', async () => {
    await using ops = new NcclAllReduce();
    using buffer = await on(1, Float32Array.of(1, 2));
    const copies = await ops.broadcast(buffer, ['gpu:0', 'cpu:0', 'gpu:1']);
    expect(await numbersOf(copies)).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ]);
    await buffer.fill(0);
    expect(await numbersOf(copies)).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ]);
  });

  it('reduces dtypes that NCCL does not support, and sparse slices for one GPU, through the host', async () => {
    await using ops = new NcclAllReduce();
    const value = await onEach(2, (rank) => Int16Array.of(rank, 1), 'int16');
    const sum = await ops.reduce(ReduceOp.SUM, value, value);
    expect([await numbersOf(sum), places(sum)]).toEqual([
      [
        [1, 2],
        [1, 2],
      ],
      ['gpu:0', 'gpu:1'],
    ]);
    const gathered = await ops.gather(value, value, 0);
    expect(await numbersOf(gathered)).toEqual([
      [0, 1, 1, 1],
      [0, 1, 1, 1],
    ]);
    const slices = await Promise.all(
      [0, 1].map(async (rank) => {
        const rows = await on(rank, Float32Array.of(rank + 1));
        return new IndexedSlices(rows.tensor([1, 1]), tensor(Int32Array.of(rank), { device: `gpu:${rank}` }));
      }),
    );
    const joined = (await ops.reduce(ReduceOp.SUM, new PerReplica(slices), 'gpu:0')) as IndexedSlices;
    expect(await numbersOf(joined.values)).toEqual([[1, 2]]);
  });

  it('refuses components with different shapes, but accepts several components on one GPU', async () => {
    await using ops = new NcclAllReduce();
    const value = new PerReplica([await on(0, Float32Array.of(1)), await on(1, Float32Array.of(1, 2))]);
    await expect(ops.reduce(ReduceOp.SUM, value, value)).rejects.toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH' });
    const twice = new PerReplica([await on(0, Float32Array.of(1)), await on(0, Float32Array.of(1))]);
    expect(await numbersOf(await ops.reduce(ReduceOp.SUM, twice, 'gpu:0'))).toEqual([[2]]);
    expect(ops.explain().notes).toContain(
      'values that are not on one GPU each, or not all-reduced, are combined on a single GPU',
    );
  });
});

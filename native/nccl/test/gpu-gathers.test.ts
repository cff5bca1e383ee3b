import {
  type DType,
  IndexedSlices,
  Mirrored,
  PerReplica,
  ReduceOp,
  setLogSink,
  type Tensor,
  toNumbers,
  type Value,
  zeros,
} from '@coll/core';
import { concatAlong, concatenateSlices } from '@coll/core/plugin';
import { bufferOf, counts, flightRecorder, type Gpu, NcclAllReduce, toHost } from '@coll/nccl';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fourGpus } from './doubles.ts';
import { quietGpus } from './quiet-gpus.ts';

const componentsOf = (result: unknown) => (result instanceof Mirrored ? result.values : [result]) as readonly Value[];

/** A component on the host that counts up, from another number for each replica. */
function counted(dtype: DType, shape: readonly number[], replica: number): Tensor {
  const made = zeros(dtype, shape, `gpu:${replica}`);
  const bytes = new Uint8Array(made.data.buffer);
  for (let at = 0; at < bytes.length; at++) bytes[at] = dtype === 'bool' ? at % 2 : (at + 50 * replica) % 100;
  return made;
}

const now = () => performance.timeOrigin + performance.now();

/** What NCCL was asked for since. */
function asked(since: number): string[] {
  return flightRecorder()
    .filter(({ queued, group, dtype }) => queued >= since && group.startsWith('gpus') && dtype !== undefined)
    .map(({ operation }) => operation);
}

describe('gathering values on GPUs', () => {
  const all = quietGpus();

  async function onGpu(value: Tensor): Promise<Tensor> {
    const gpu = all[Number(value.device.at(-1))] as Gpu;
    return (await gpu.upload(value.data, value.dtype)).tensor(value.shape);
  }
  const onGpus = async (values: readonly Tensor[]) => new PerReplica(await Promise.all(values.map(onGpu)));
  const sliceOnGpu = async ({ values, indices, denseShape }: IndexedSlices) =>
    new IndexedSlices(await onGpu(values), await onGpu(indices), denseShape);

  function dispose(...values: readonly Value[]): void {
    for (const value of values) {
      const parts = value instanceof IndexedSlices ? [value.values, value.indices] : [value];
      for (const part of parts) if (part.memory) bufferOf(part).dispose();
    }
  }

  const rowsOf = (rows: number, replica: number, dtype: DType = 'float32', indices: DType = 'int32') =>
    new IndexedSlices(counted(dtype, [rows, 2], replica), counted(indices, [rows], replica), [1e9, 2]);

  const dtypes: readonly DType[] = ['float32', 'float64', 'int16', 'bool', 'bfloat16', 'int64'];
  const gathers = fc
    .record({
      lengths: fc.array(fc.nat(4), { minLength: 2, maxLength: 4 }),
      rest: fc.array(fc.nat(3), { maxLength: 2 }),
      place: fc.nat(2),
      dtype: fc.constantFrom(...dtypes),
    })
    .map(({ lengths, rest, place, dtype }) => {
      const axis = Math.min(place, rest.length);
      return { dtype, axis, shapes: lengths.map((length) => rest.toSpliced(axis, 0, length)) };
    });

  it('supports any shapes and axis, uses only the GPUs, and leaves no memory allocated', async () => {
    await using ops = new NcclAllReduce();
    const before = counts().buffers;
    await fc.assert(
      fc.asyncProperty(gathers, async ({ dtype, axis, shapes }) => {
        const inputs = shapes.map((shape, replica) => counted(dtype, shape, replica));
        const value = await onGpus(inputs);
        const gathered = componentsOf(await ops.gather(value, value, axis)) as readonly Tensor[];
        const wanted = concatAlong(inputs, axis);
        for (const [replica, item] of gathered.entries()) {
          expect(bufferOf(item).device).toBe(fourGpus[replica]);
          expect(item).toMatchObject({ dtype, shape: wanted.shape });
          expect((await toHost(item)).data).toEqual(wanted.data);
        }
        dispose(...gathered, ...(value.values as Tensor[]));
      }),
      { numRuns: 60 },
    );
    await expect.poll(() => counts().buffers).toBe(before);
    expect(ops.explain().notes).toEqual([]);
  });

  it('frees all GPU memory used to reduce sparse slices, except that of the results', async () => {
    await using ops = new NcclAllReduce();
    const before = counts().buffers;
    for (const [op, dtype] of [
      [ReduceOp.SUM, 'float32'],
      [ReduceOp.MEAN, 'int32'],
    ] as const) {
      const slices = await Promise.all([1, 3].map((count, replica) => sliceOnGpu(rowsOf(count, replica, dtype))));
      const value = new PerReplica(slices);
      const joined = componentsOf(await ops.reduce(op, value, value));
      await expect.poll(() => counts().buffers).toBe(before + 8);
      dispose(...slices, ...joined);
      await expect.poll(() => counts().buffers).toBe(before);
    }
  });

  it('uses one all-gather for components of equal lengths, and one broadcast per component otherwise', async () => {
    await using ops = new NcclAllReduce();
    const gather = async (...lengths: readonly number[]) => {
      const before = now();
      const value = await onGpus(lengths.map((length, replica) => counted('float32', [length], replica)));
      await ops.gather(value, value, 0);
      return asked(before);
    };
    expect(await gather(2, 2, 2)).toEqual(['all-gather']);
    expect(await gather(2, 0, 3)).toEqual(['group of collectives']);
    expect(await gather(0, 0, 0)).toEqual([]);
  });

  it('gathers more rows than one kernel launch can copy', async () => {
    await using ops = new NcclAllReduce();
    const inputs = [1, 2].map((length, replica) => counted('uint8', [70_000, length], replica));
    const value = await onGpus(inputs);
    const [first] = componentsOf(await ops.gather(value, value, 1)) as readonly [Tensor];
    expect((await toHost(first)).data).toEqual(concatAlong(inputs, 1).data);
  });

  it('gathers components on the host and on a GPU, and returns each result where its component was', async () => {
    await using ops = new NcclAllReduce();
    const inputs = [2, 3].map((length, replica) => counted('float32', [2, length], replica));
    const value = new PerReplica([inputs[0] as Tensor, await onGpu(inputs[1] as Tensor)]);
    const gathered = componentsOf(await ops.gather(value, value, 1)) as readonly Tensor[];
    expect(gathered.map(({ memory }) => memory !== undefined)).toEqual([false, true]);
    for (const item of gathered) expect((await toHost(item)).data).toEqual(concatAlong(inputs, 1).data);
  });

  it('gathers on the host if the destinations are not the devices of the components, and logs this once', async () => {
    const messages: string[] = [];
    setLogSink((_, message) => void messages.push(message));
    await using ops = new NcclAllReduce();
    const value = await onGpus([counted('int32', [1], 0), counted('int32', [1], 1)]);
    const wanted = toNumbers(concatAlong([counted('int32', [1], 0), counted('int32', [1], 1)], 0));
    for (const destinations of ['gpu:1', 'cpu:0', ['gpu:1', 'gpu:0']]) {
      const gathered = componentsOf(await ops.gather(value, destinations, 0)) as readonly Tensor[];
      for (const item of gathered) expect(toNumbers(await toHost(item))).toEqual(wanted);
    }
    setLogSink(() => undefined);
    const note =
      'a gather goes through the host unless its destinations are the GPUs of its components, one component per GPU';
    expect(ops.explain().notes).toEqual([note]);
    expect(messages.filter((message) => message.includes(note))).toEqual([`nccl: ${note}`]);
  });

  it.each([
    [
      'different dimensions',
      0,
      [
        [1, 2],
        [1, 3],
      ],
      'ERR_COLL_SHAPE_MISMATCH',
    ],
    ['different numbers of dimensions', 1, [[1, 2], [2]], 'ERR_COLL_SHAPE_MISMATCH'],
    [
      'an axis that is out of range',
      2,
      [
        [1, 2],
        [1, 2],
      ],
      'ERR_COLL_RANGE',
    ],
    [
      'an axis that is not an integer',
      0.5,
      [
        [1, 2],
        [1, 2],
      ],
      'ERR_COLL_RANGE',
    ],
    ['scalars', 0, [[], []], 'ERR_COLL_VALUE'],
  ] as const)('refuses %s with the same error as on the host', async (_, axis, shapes, code) => {
    await using ops = new NcclAllReduce();
    const inputs = shapes.map((shape, replica) => counted('float32', shape, replica));
    const onHost = new PerReplica(inputs);
    const failure = await ops.gather(onHost, onHost, axis).catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ code });
    const value = await onGpus(inputs);
    await expect(ops.gather(value, value, axis)).rejects.toThrow((failure as Error).message);
  });

  it.each([
    ['alike', 'SUM', [2, 2, 2], 'float32'],
    ['of different lengths', 'SUM', [2, 0, 3], 'float32'],
    ['of different lengths', 'MEAN', [1, 3], 'float64'],
    ['of integers', 'MEAN', [2, 2], 'int32'],
    ['without rows', 'MEAN', [0, 0], 'float32'],
  ] as const)('concatenates sparse slices %s for a %s', async (_, op, rows, dtype) => {
    await using ops = new NcclAllReduce();
    const inputs = rows.map((count, replica) => rowsOf(count, replica, dtype));
    const value = new PerReplica(await Promise.all(inputs.map(sliceOnGpu)));
    const [joined, wanted] = await Promise.all(
      [ops, new NcclAllReduce()].map((one, at) =>
        one.reduce(ReduceOp[op], at === 0 ? value : new PerReplica(inputs), value),
      ),
    );
    const ofHost = componentsOf(wanted) as readonly IndexedSlices[];
    for (const [replica, slices] of (componentsOf(joined) as readonly IndexedSlices[]).entries()) {
      const { values, indices, denseShape } = ofHost[replica] as IndexedSlices;
      expect([slices.device, slices.denseShape]).toEqual([fourGpus[replica], denseShape]);
      for (const [own, other] of [
        [slices.values, values],
        [slices.indices, indices],
      ] as const) {
        expect(own).toMatchObject({ dtype: other.dtype, shape: other.shape, device: fourGpus[replica] });
        expect((await toHost(own)).data).toEqual(other.data);
      }
    }
    expect(ops.explain().notes).toEqual([]);
  });

  it('concatenates all sparse slices of a batch in one group call, together with dense values', async () => {
    await using ops = new NcclAllReduce();
    const sparse = await Promise.all(
      [1, 3].map(async (rows) => new PerReplica(await Promise.all([0, 1].map((at) => sliceOnGpu(rowsOf(rows, at)))))),
    );
    const dense = await onGpus([counted('int32', [2], 0), counted('int32', [2], 1)]);
    const before = now();
    const values = [sparse[0], dense, sparse[1]] as readonly PerReplica<Value>[];
    const results = await ops.batchReduce(
      ReduceOp.SUM,
      values.map((value) => [value, value] as const),
    );
    expect(asked(before)).toHaveLength(2);
    const [first, , last] = results.map((result) => componentsOf(result)[0]) as [IndexedSlices, Tensor, IndexedSlices];
    for (const [slices, rows] of [
      [first, 1],
      [last, 3],
    ] as const) {
      const wanted = concatenateSlices([0, 1].map((at) => rowsOf(rows, at)));
      expect((await toHost(slices.values)).data).toEqual(wanted.values.data);
      expect((await toHost(slices.indices)).data).toEqual(wanted.indices.data);
    }
  });

  it('reduces sparse slices that NCCL does not support on the host, which also reports their errors', async () => {
    await using ops = new NcclAllReduce();
    const unlike = [rowsOf(1, 0), rowsOf(1, 1, 'float64')];
    const value = new PerReplica(await Promise.all(unlike.map(sliceOnGpu)));
    await expect(ops.reduce(ReduceOp.SUM, value, value)).rejects.toMatchObject({ code: 'ERR_COLL_DTYPE_MISMATCH' });
    const alike = new PerReplica(await Promise.all([0, 1].map((at) => sliceOnGpu(rowsOf(1, at)))));
    await expect(ops.reduce(ReduceOp.MAX, alike, alike)).rejects.toMatchObject({ code: 'ERR_COLL_REFUSED' });
    const others = new PerReplica(await Promise.all([rowsOf(1, 0), rowsOf(1, 1, 'float32', 'int64')].map(sliceOnGpu)));
    const [first] = componentsOf(await ops.reduce(ReduceOp.SUM, others, others)) as readonly [IndexedSlices];
    expect(first.indices).toMatchObject({ dtype: 'int64', shape: [2] });
    expect(bufferOf(first.values).device).toBe('gpu:0');
  });

  it.each([
    ['by NCCL to all destinations', fourGpus.slice(0, 3), true],
    ['by copies to GPUs without the value', ['gpu:2', 'gpu:3'], false],
    ['by a copy to one GPU', ['gpu:1'], false],
  ] as const)('broadcasts %s', async (_, destinations, isByNccl) => {
    await using ops = new NcclAllReduce();
    const input = counted('int16', [2, 3], 1);
    const slices = rowsOf(2, 1);
    const before = now();
    const copies = componentsOf(await ops.broadcast(await onGpu(input), [...destinations])) as readonly Tensor[];
    expect(copies.map((copy) => bufferOf(copy).device)).toEqual(destinations);
    for (const copy of copies) expect(await toHost(copy)).toMatchObject({ data: input.data, shape: [2, 3] });
    expect(asked(before).some((operation) => operation.startsWith('broadcast'))).toBe(isByNccl);
    const sparse = componentsOf(await ops.broadcast(await sliceOnGpu(slices), [...destinations]));
    for (const [at, copy] of (sparse as readonly IndexedSlices[]).entries()) {
      expect([bufferOf(copy.values).device, bufferOf(copy.indices).device]).toEqual([
        destinations[at],
        destinations[at],
      ]);
      expect((await toHost(copy.values)).data).toEqual(slices.values.data);
      expect((await toHost(copy.indices)).data).toEqual(slices.indices.data);
    }
  });
});

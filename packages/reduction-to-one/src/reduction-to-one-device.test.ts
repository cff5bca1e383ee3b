import {
  addN,
  createRegistry,
  IndexedSlices,
  type LogLevel,
  Mirrored,
  PerReplica,
  ReduceOp,
  registry,
  setLogSink,
  type Tensor,
  tensor,
  toNumbers,
} from '@coll/core';
import { portableWorld } from '@coll/core/plugin';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { reductionToOne } from './plugin.js';
import { ReductionToOneDevice, type ReductionToOneOptions } from './reduction-to-one-device.js';

const cpu = (index: number) => `/job:localhost/replica:0/task:0/device:CPU:${index}`;
const on = (device: string, ...elements: readonly number[]) => tensor(elements, { device, dtype: 'int32' });
const value = new PerReplica([on('cpu:0', 1, 2), on('cpu:1', 30, 40), on('cpu:2', 500, 6)]);
const slices = (device: string, row: number) =>
  new IndexedSlices(on(device, row), tensor(Int32Array.of(row), { device }), [9]);

async function reduced(op: ReduceOp, options?: ReductionToOneOptions): Promise<Tensor> {
  return (await new ReductionToOneDevice(options).reduce(op, value, 'cpu:1')) as Tensor;
}

describe('ReductionToOneDevice.reduce', () => {
  it.each<readonly [ReduceOp, Tensor]>([
    ['SUM', on(cpu(1), 531, 48)],
    ['MEAN', tensor([177, 16], { device: cpu(1) })],
    ['MIN', on(cpu(1), 1, 2)],
    ['MAX', on(cpu(1), 500, 40)],
    ['PRODUCT', on(cpu(1), 15_000, 480)],
  ])('computes the %s of all components without changing them', async (op, expected) => {
    expect(await reduced(op)).toEqual(expected);
    expect(value.values[0]).toEqual(on('cpu:0', 1, 2));
  });

  it('returns a tensor for one destination, and a Mirrored value for several', async () => {
    const ops = new ReductionToOneDevice();
    const copies = (await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    expect(copies).toBeInstanceOf(Mirrored);
    expect(copies.values).toEqual(['cpu:0', 'cpu:1', 'cpu:2'].map((device) => on(device, 531, 48)));
    expect(new Set(copies.values.map(({ data }) => data.buffer)).size).toBe(3);
    const elsewhere = (await ops.reduce(ReduceOp.SUM, value, ['cpu:8', 'cpu:9'])) as Mirrored<Tensor>;
    expect(elsewhere.devices).toEqual([cpu(8), cpu(9)]);
  });

  it('adds in replica order', async () => {
    const terms = [1, 1e16, -1e16].map((term, index) => tensor([term], { device: `cpu:${index}` }));
    const sums = await Promise.all(
      [terms, terms.toReversed()].map((list) =>
        new ReductionToOneDevice().reduce(ReduceOp.SUM, new PerReplica(list), 'cpu:0'),
      ),
    );
    expect((sums as Tensor[]).map(({ data }) => data[0])).toEqual([0, 1]);
  });

  it('combines on its configured device, whatever the destinations', async () => {
    const result = await reduced(ReduceOp.SUM, { reduceToDevice: 'gpu:3' });
    expect(result).toEqual(on(cpu(1), 531, 48));
  });

  it('moves a single component to another device, and still checks the op', async () => {
    const ops = new ReductionToOneDevice();
    const moved = (await ops.reduce(ReduceOp.SUM, on('cpu:0', 7), 'cpu:1')) as Tensor;
    expect(moved).toEqual(on(cpu(1), 7));
    await expect(ops.reduce('sum' as never, on('cpu:0', 7), 'cpu:1')).rejects.toMatchObject({ name: 'ValueError' });
  });

  it('refuses a value without components', async () => {
    await expect(new ReductionToOneDevice().reduce(ReduceOp.SUM, new PerReplica([]), 'cpu:0')).rejects.toMatchObject({
      name: 'ValueError',
      message: expect.stringContaining('must be non-empty'),
    });
  });

  it('accepts values without a device', async () => {
    const bare = new PerReplica([Float32Array.of(1), Float32Array.of(2)]);
    const result = (await new ReductionToOneDevice().reduce(ReduceOp.SUM, bare, 'cpu:0')) as Tensor;
    expect(result).toEqual(tensor(Float32Array.of(3), { device: cpu(0) }));
  });
});

describe('accumulationFn', () => {
  it('sums the components in replica order', async () => {
    const accumulationFn = vi.fn(addN);
    expect(await reduced(ReduceOp.SUM, { accumulationFn })).toEqual(on(cpu(1), 531, 48));
    expect(accumulationFn.mock.calls).toEqual([[value.values]]);
  });

  it('returns the sum, which a mean then divides by the number of components', async () => {
    const accumulationFn = (tensors: readonly Tensor[]) => tensors[2] as Tensor;
    expect(await reduced(ReduceOp.MEAN, { accumulationFn })).toEqual(tensor([500 / 3, 2], { device: cpu(1) }));
  });

  it('gets integers of which the mean is computed as floats, so that their sum does not wrap around', async () => {
    const ops = new ReductionToOneDevice({ accumulationFn: addN });
    const bytes = new PerReplica(['cpu:0', 'cpu:1'].map((device) => tensor(Uint8Array.of(200), { device })));
    expect(await ops.reduce(ReduceOp.MEAN, bytes, 'cpu:0')).toMatchObject({
      dtype: 'float32',
      data: Float32Array.of(200),
    });
    const flags = new PerReplica(['cpu:0', 'cpu:1'].map((device) => tensor([1], { dtype: 'bool', device })));
    await expect(ops.reduce(ReduceOp.MEAN, flags, 'cpu:0')).rejects.toMatchObject({ code: 'ERR_COLL_REFUSED' });
  });

  it.each(['MIN', 'MAX', 'PRODUCT'] as const)('is not called for the op %s', async (op) => {
    const accumulationFn = vi.fn(addN);
    await reduced(op, { accumulationFn });
    expect(accumulationFn).not.toHaveBeenCalled();
  });

  it('is not called for sparse values, or values with sparse components', async () => {
    const accumulationFn = vi.fn(addN);
    const ops = new ReductionToOneDevice({ accumulationFn });
    await ops.reduce(ReduceOp.SUM, new PerReplica([slices('cpu:0', 3), slices('cpu:1', 5)]), 'cpu:0');
    await ops.reduce(
      ReduceOp.MEAN,
      new PerReplica([slices('cpu:0', 3), on('cpu:1', ...new Array(9).fill(1))]),
      'cpu:0',
    );
    expect(accumulationFn).not.toHaveBeenCalled();
  });

  it('may return any tensor-like value, and nothing else', async () => {
    const accumulationFn = () => Float32Array.of(8) as unknown as Tensor;
    expect(await reduced(ReduceOp.SUM, { accumulationFn })).toEqual(tensor(Float32Array.of(8), { device: cpu(1) }));
    const broken = { accumulationFn: () => undefined as unknown as Tensor };
    await expect(reduced(ReduceOp.SUM, broken)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('what accumulationFn returned must be a tensor'),
    });
  });

  it('must be a function', () => {
    expect(() => new ReductionToOneDevice({ accumulationFn: 'sum' as never })).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
  });
});

it('reduceToDevice refuses a string that is not a device', () => {
  expect(() => new ReductionToOneDevice({ reduceToDevice: 'here' })).toThrow(
    expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_DEVICE' }),
  );
});

describe('sparse values', () => {
  const sparse = new PerReplica([slices('cpu:0', 3), slices('cpu:1', 3), slices('cpu:2', 5)]);

  it('are concatenated with duplicate indices, on every destination', async () => {
    const copies = (await new ReductionToOneDevice().reduce(ReduceOp.SUM, sparse, sparse)) as Mirrored<IndexedSlices>;
    expect(copies.values).toEqual(
      ['cpu:0', 'cpu:1', 'cpu:2'].map(
        (device) => new IndexedSlices(on(device, 3, 3, 5), tensor(Int32Array.of(3, 3, 5), { device }), [9]),
      ),
    );
  });

  it('have a mean that divides the rows by the number of components', async () => {
    const mean = (await new ReductionToOneDevice().reduce(ReduceOp.MEAN, sparse, 'cpu:0')) as IndexedSlices;
    expect([mean.values.data, mean.indices.data]).toEqual([Float64Array.of(1, 1, 5 / 3), Int32Array.of(3, 3, 5)]);
  });

  it('become dense if combined with dense values', async () => {
    const mixed = new PerReplica([slices('cpu:0', 3), on('cpu:1', 1, 1, 1, 1, 1, 1, 1, 1, 1)]);
    const sum = (await new ReductionToOneDevice().reduce(ReduceOp.SUM, mixed, 'cpu:0')) as Tensor;
    expect(sum).toEqual(on(cpu(0), 1, 1, 1, 4, 1, 1, 1, 1, 1));
  });

  it('become dense without intermediate rounding', async () => {
    const halves = (...elements: readonly number[]) => tensor(elements, { dtype: 'float16', shape: [elements.length] });
    const mixed = new PerReplica([halves(60000), new IndexedSlices(halves(30000, 30000), new Int32Array(2), [1])]);
    const ops = new ReductionToOneDevice();
    expect(toNumbers((await ops.reduce(ReduceOp.MEAN, mixed, 'cpu:0')) as Tensor)).toEqual([60000]);
    const small = new PerReplica([halves(2), new IndexedSlices(halves(2048, 1, 1), new Int32Array(3), [1])]);
    expect(toNumbers((await ops.reduce(ReduceOp.SUM, small, 'cpu:0')) as Tensor)).toEqual([2052]);
  });

  it('have one result for all destinations with sharedResult, but never in memory of the caller', async () => {
    const shared = { sharedResult: true };
    const ops = new ReductionToOneDevice();
    const sum = (await ops.reduce(ReduceOp.SUM, sparse, sparse, shared)) as Mirrored<IndexedSlices>;
    expect(new Set(sum.values.map(({ values }) => values.data)).size).toBe(1);
    const own = slices('cpu:0', 3);
    const moved = (await ops.reduce(ReduceOp.SUM, own, 'cpu:1', shared)) as IndexedSlices;
    expect(moved.values.data).not.toBe(own.values.data);
  });

  it.each(['MIN', 'MAX', 'PRODUCT'] as const)('do not support %s', async (op) => {
    await expect(new ReductionToOneDevice().reduce(op, sparse, 'cpu:0')).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_REFUSED',
      operation: 'reduce',
    });
  });

  it('of dtype bool have no mean', async () => {
    const flag = (device: string) => tensor([1], { dtype: 'bool', device });
    const flags = new PerReplica(['cpu:0', 'cpu:1'].map((device) => new IndexedSlices(flag(device), Int32Array.of(0))));
    await expect(new ReductionToOneDevice().reduce(ReduceOp.MEAN, flags, 'cpu:0')).rejects.toMatchObject({
      code: 'ERR_COLL_REFUSED',
    });
  });
});

it('batchReduce reduces each value to its own destinations', async () => {
  const ops = new ReductionToOneDevice();
  const other = new PerReplica([on('cpu:0', 1), on('cpu:1', 2)]);
  const results = await ops.batchReduce(ReduceOp.SUM, [
    [value, 'cpu:0'],
    [other, other],
    [on('cpu:4', 9), 'cpu:5'],
  ]);
  expect(results).toEqual([on(cpu(0), 531, 48), new Mirrored([on('cpu:0', 3), on('cpu:1', 3)]), on(cpu(5), 9)]);
});

describe('memory for results', () => {
  const three = () => [on('cpu:0', 1, 2), on('cpu:1', 30, 40), on('cpu:2', 500, 6)] as const;

  it.each([
    ['cpu:0', 'cpu:1', 'cpu:2'],
    ['cpu:1', 'cpu:2', 'cpu:0'],
    ['cpu:2', 'cpu:0', 'cpu:1'],
  ])('may be the memory of the components, for results on %s, %s and %s', async (...devices) => {
    const own = new PerReplica(three());
    await new ReductionToOneDevice().reduce(ReduceOp.SUM, own, devices, { into: own });
    expect(own.values.map(({ data }) => [...data])).toEqual(devices.map(() => [531, 48]));
  });

  it('is used for each value of a batch, and is returned', async () => {
    const into = [new PerReplica(three()), on('', 0, 0)];
    const batch = [[value, value] as const, [value, 'cpu:7'] as const];
    const results = await new ReductionToOneDevice().batchReduce(ReduceOp.SUM, batch, { into });
    const [all, one] = results as [Mirrored<Tensor>, Tensor];
    expect(all.values.map(({ data }) => data)).toEqual(three().map(() => Int32Array.of(531, 48)));
    expect(all.values.map(({ data }, place) => data === (into[0] as PerReplica<Tensor>).values[place]?.data)).toEqual([
      true,
      true,
      true,
    ]);
    expect([one.data === (into[1] as Tensor).data, one]).toEqual([true, on(cpu(7), 531, 48)]);
  });
});

it('batchReduce calls the reduce of a subclass for each value', async () => {
  let calls = 0;
  class Counting extends ReductionToOneDevice {
    protected override reduceImplementation(...args: Parameters<ReductionToOneDevice['reduceImplementation']>) {
      calls += 1;
      return super.reduceImplementation(...args);
    }
  }
  await new Counting().batchReduce(ReduceOp.SUM, [
    [value, value],
    [value, 'cpu:0'],
  ]);
  expect(calls).toBe(2);
});

describe('ReductionToOneDevice.gather', () => {
  it('concatenates components along an axis and copies the result to the destinations', async () => {
    const ops = new ReductionToOneDevice();
    const rows = new PerReplica([tensor([1, 2], { shape: [1, 2] }), tensor([3, 4, 5, 6], { shape: [2, 2] })]);
    const gathered = (await ops.gather(rows, ['cpu:0', 'cpu:1'], 0)) as Mirrored<Tensor>;
    expect(gathered.values.map(({ shape, data }) => [shape, [...data]])).toEqual([
      [
        [3, 2],
        [1, 2, 3, 4, 5, 6],
      ],
      [
        [3, 2],
        [1, 2, 3, 4, 5, 6],
      ],
    ]);
    await expect(ops.gather(rows, 'cpu:0', 1)).rejects.toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH' });
  });
});

describe('the log of ReductionToOneDevice', () => {
  const sink = vi.fn<(level: LogLevel, message: string) => void>();
  beforeEach(() => setLogSink((level, message) => sink(level, message)));
  afterEach(() => {
    sink.mockClear();
    setLogSink();
  });

  it('reports for the first ten calls where values are combined and where results go', async () => {
    const ops = new ReductionToOneDevice();
    for (let time = 0; time < 12; time++) await ops.reduce(ReduceOp.SUM, value, ['cpu:2', 'cpu:1']);
    const message = `reduce 3 components to ${cpu(2)}, then broadcast to ${cpu(2)}, ${cpu(1)}`;
    expect(sink.mock.calls).toEqual(new Array(10).fill(['info', message]));
  });

  it('reports the configured device', async () => {
    await reduced(ReduceOp.SUM, { reduceToDevice: 'gpu:3' });
    expect(sink.mock.lastCall?.[1]).toContain('to /job:localhost/replica:0/task:0/device:GPU:3, then');
  });
});

describe('the reduction-to-one plug-in', () => {
  it('creates ops with options, with or without a world', async () => {
    const known = createRegistry();
    known.register(reductionToOne);
    const ops = await known.create('reduction-to-one', { accumulationFn: (tensors) => tensors[0] as Tensor });
    expect(ops).toBeInstanceOf(ReductionToOneDevice);
    expect(((await ops.reduce(ReduceOp.SUM, value, 'cpu:0')) as Tensor).data).toEqual(Int32Array.of(1, 2));
    const inWorld = await known.create('reduction-to-one', {}, portableWorld(['cpu:0', 'cpu:1']));
    const results = await Promise.all([0, 1].map((rank) => inWorld.allReduce(ReduceOp.SUM, on('', rank + 1), rank)));
    expect(results).toEqual([on('cpu:0', 3), on('cpu:1', 3)]);
  });

  it('refuses a number instead of options', () => {
    expect(() => new ReductionToOneDevice(2 as never)).toThrow(
      'options must be an object, new ReductionToOneDevice({ ',
    );
  });

  it('is exported by its module, and registered by @coll/reduction-to-one/register', async () => {
    expect(await import(/* @vite-ignore */ reductionToOne.module)).toMatchObject({
      reductionToOne: { name: 'reduction-to-one' },
    });
    await import('./register.js');
    expect(registry.get('reduction-to-one')).toBe(reductionToOne);
  });
});

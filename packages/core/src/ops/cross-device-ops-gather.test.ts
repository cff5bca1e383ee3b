import { describe, expect, it } from 'vitest';
import { RecordingOps } from '../../test/recording-ops.js';
import { rejection } from '../../test/thrown.js';
import { canonicalize } from '../values/device.js';
import { Mirrored, PerReplica } from '../values/distributed-values.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor } from '../values/tensor.js';

const on = (device: string, ...elements: readonly number[]) => tensor(elements, { device });
const [a, b] = [on('cpu:0', 1, 2), on('cpu:1', 3, 4)];
const both = new PerReplica([a, b]);
const slices = (device: string) => new IndexedSlices(on(device, 5), tensor(new Int32Array(1), { device }), [3]);
const cpu0 = canonicalize('cpu:0');

describe('broadcast of cross-device ops', () => {
  const ops = new RecordingOps();

  it('copies a value to every destination in order, from any device', async () => {
    const copies = (await ops.broadcast(Float64Array.of(1, 2), ['cpu:1', 'cpu:0'])) as Mirrored<Tensor>;
    expect(copies).toBeInstanceOf(Mirrored);
    expect(copies.devices).toEqual([canonicalize('cpu:1'), cpu0]);
    expect(copies.values.map(({ data }) => data)).toEqual([Float64Array.of(1, 2), Float64Array.of(1, 2)]);
    expect(copies.values[0]?.data).not.toBe(copies.values[1]?.data);
  });

  it('returns a tensor, not a Mirrored, for a single destination', async () => {
    expect(await ops.broadcast(a, 'cpu:7')).toEqual({ ...a, device: canonicalize('cpu:7') });
    expect(await ops.broadcast(5, a)).toEqual({ ...tensor(5), device: cpu0 });
  });

  it('copies the values and indices of sparse values', async () => {
    const copies = (await ops.broadcast(slices('cpu:9'), both)) as Mirrored<IndexedSlices>;
    expect(copies.values).toEqual([slices('cpu:0'), slices('cpu:1')]);
  });

  it('uses the first component of a mirrored value, dense or sparse', async () => {
    expect(await ops.broadcast(new Mirrored([a, b]), 'cpu:0')).toEqual({ ...a, device: cpu0 });
    const sparse = await ops.broadcast(new Mirrored([slices('cpu:0'), slices('cpu:1')]), 'cpu:0');
    expect(sparse).toBeInstanceOf(IndexedSlices);
  });

  it('checks destinations before the value', async () => {
    expect(await rejection(ops.broadcast('x' as never, ''))).toMatchObject({ code: 'ERR_COLL_DESTINATION' });
    expect(await rejection(ops.broadcast('x' as never, 'cpu:0'))).toMatchObject({ code: 'ERR_COLL_VALUE' });
    expect(await rejection(ops.broadcast(both as never, 'cpu:0'))).toMatchObject({ code: 'ERR_COLL_CONTEXT' });
  });
});

describe('gather of cross-device ops', () => {
  const ops = new RecordingOps();

  it('concatenates components along an axis in replica order, on every destination', async () => {
    const gathered = (await ops.gather(both, both, 0)) as Mirrored<Tensor>;
    expect(gathered.values).toEqual([on('cpu:0', 1, 2, 3, 4), on('cpu:1', 1, 2, 3, 4)]);
    const wide = new PerReplica([tensor([1, 2], { shape: [2, 1] }), tensor([3, 4], { shape: [2, 1] })]);
    expect(await ops.gather(wide, 'cpu:0', 1)).toEqual(tensor([1, 3, 2, 4], { shape: [2, 2], device: cpu0 }));
  });

  it('copies a single component that is already on the destination, whatever the axis', async () => {
    const copy = (await ops.gather(a, 'cpu:0', 99)) as Tensor;
    expect(copy).toEqual({ ...a, device: cpu0 });
    expect(copy.data).not.toBe(a.data);
  });

  it.each([
    ['indexed slices', slices('cpu:0')],
    ['a value of indexed slices', new PerReplica([slices('cpu:0'), slices('cpu:1')])],
    ['a value with a sparse component', new PerReplica([a, slices('cpu:1')])],
  ])('is not supported for %s', async (_, value) => {
    expect(await rejection(ops.gather(value, 'nonsense', 0, { bytesPerPack: -1 }))).toMatchObject({
      name: 'NotImplementedError',
      code: 'ERR_COLL_NOT_IMPLEMENTED',
      operation: 'gather',
    });
  });

  it('checks options, value, destinations and axis in this order', async () => {
    expect(await rejection(ops.gather('x' as never, '', 0, { bytesPerPack: -1 }))).toMatchObject({
      message: expect.stringContaining('bytesPerPack'),
    });
    expect(await rejection(ops.gather('x' as never, '', 0))).toMatchObject({ code: 'ERR_COLL_VALUE' });
    expect(await rejection(ops.gather(both, '', 0))).toMatchObject({ code: 'ERR_COLL_DESTINATION' });
    expect(await rejection(ops.gather(both, 'cpu:0', 1))).toMatchObject({ code: 'ERR_COLL_RANGE' });
  });
});

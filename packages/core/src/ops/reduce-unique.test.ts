import { describe, expect, it } from 'vitest';
import { RecordingOps } from '../../test/recording-ops.js';
import { rejection } from '../../test/thrown.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { concatenateSlices } from '../sparse/aggregate-slices.js';
import { type Mirrored, PerReplica, type PossiblyMirrored } from '../values/distributed-values.js';
import { toNumbers } from '../values/element.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor } from '../values/tensor.js';

const { SUM, MEAN } = ReduceOp;
const options = { deduplicate: true };
const slices = (device: string, ...rows: readonly number[]) =>
  new IndexedSlices(tensor(rows, { dtype: 'float16', shape: [rows.length], device }), new Uint8Array(rows.length));
const value = new PerReplica([slices('cpu:0', 60000), slices('cpu:1', 60000)]);
const dense = new PerReplica([tensor([1], { device: 'cpu:0' }), tensor([2], { device: 'cpu:1' })]);

/** Ops that ignore the option: they concatenate sparse values, and return the first dense value. */
function unknowing() {
  const ops = new RecordingOps();
  ops.reduced.mockImplementation(async (_, { values, primary }) => {
    return 'data' in primary ? primary : (concatenateSlices(values as IndexedSlices[]) as PossiblyMirrored);
  });
  return ops;
}

describe('a reduce with deduplicate, by ops that do not implement deduplicate', () => {
  it('requests a sum from the ops, and divides the deduplicated sum to get a mean', async () => {
    const ops = unknowing();
    const mean = (await ops.reduce(MEAN, value, ['cpu:3', 'cpu:4'], options)) as Mirrored<IndexedSlices>;
    // The sum is beyond float16; the mean is not.
    expect(mean.values.map((one) => [one.device, toNumbers(one.values)])).toEqual(
      [3, 4].map((index) => [`/job:localhost/replica:0/task:0/device:CPU:${index}`, [60000]]),
    );
    expect(mean.values[0]?.values.data).not.toBe(mean.values[1]?.values.data);
    expect(ops.reduced.mock.calls[0]?.[0]).toBe(SUM);
  });

  it('supports a shared result', async () => {
    const call = { ...options, sharedResult: true };
    const sum = (await unknowing().reduce(SUM, value, value, call)) as Mirrored<IndexedSlices>;
    expect(sum.values[0]?.values.data).toBe(sum.values[1]?.values.data);
  });

  it('reduces the dense values of a batch with the requested op', async () => {
    const ops = unknowing();
    const batch = [value, dense, value].map((one) => [one, one] as const);
    const [first, second, third] = await ops.batchReduce(MEAN, batch, options);
    expect(second).toBe(dense.primary);
    for (const result of [first, third] as Mirrored<IndexedSlices>[])
      expect(toNumbers(result.primary.values)).toEqual([60000]);
    expect(ops.reduced.mock.calls.map(([op]) => op)).toEqual([MEAN, SUM, SUM]);
  });

  it('passes an op such as MIN on to the ops, which may refuse it', async () => {
    const ops = unknowing();
    ops.reduced.mockRejectedValue(new Error('no min'));
    expect(await rejection(ops.reduce(ReduceOp.MIN, value, value, options))).toMatchObject({ message: 'no min' });
    expect(ops.reduced.mock.calls[0]?.[0]).toBe(ReduceOp.MIN);
  });
});

it('a single sparse component that is already on its destination is deduplicated too', async () => {
  const ops = unknowing();
  const twice = slices('cpu:0', 1, 2);
  const [batched] = (await ops.batchReduce(SUM, [[twice, 'cpu:0']], options)) as [IndexedSlices];
  for (const one of [(await ops.reduce(SUM, twice, 'cpu:0', options)) as IndexedSlices, batched])
    expect(toNumbers(one.values)).toEqual([3]);
  expect(await ops.batchReduce(SUM, [[dense.primary, 'cpu:0']], options)).toEqual([dense.primary as Tensor]);
  expect(ops.reduced).not.toHaveBeenCalled();
});

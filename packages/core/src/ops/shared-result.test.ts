import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { describe, expect, it } from 'vitest';
import { on, spread, TestedAllReduce } from '../../test/tested-all-reduce.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { portableWorld } from '../engines/worlds.js';
import { type Mirrored, PerReplica } from '../values/distributed-values.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor } from '../values/tensor.js';
import type { CrossDeviceOps } from './cross-device-ops.js';

const value = spread([1, 2], [30, 40]);
const sums = [on('cpu:0', 31, 42), on('cpu:1', 31, 42)];
const sharedResult = true;

function memories({ values }: Mirrored<Tensor>): number {
  return new Set(values.map(({ data }) => data.buffer)).size;
}

describe.each<readonly [string, () => CrossDeviceOps]>([
  ['an all-reduce', () => new TestedAllReduce()],
  ['an all-reduce of several packs', () => new TestedAllReduce({ numPacks: 3 })],
  ['reduction to one device', () => new ReductionToOneDevice()],
])('%s with a shared result', (_, make) => {
  it('returns components that all use the same memory', async () => {
    const ops = make();
    const result = (await ops.reduce(ReduceOp.SUM, value, value, { sharedResult })) as Mirrored<Tensor>;
    expect(result.values).toEqual(sums);
    expect([memories(result), result.values.some(({ data }) => value.values.some((own) => own.data === data))]).toEqual(
      [1, false],
    );
    const own = (await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    expect([own.values, memories(own)]).toEqual([sums, 2]);
  });

  it('uses one memory for all results of a value, also on destinations that have no component of the value', async () => {
    const pairs = [
      [value, value],
      [spread([1], [2]), value],
      [value, value],
    ] as const;
    const results = (await make().batchReduce(ReduceOp.MEAN, pairs, { sharedResult })) as Mirrored<Tensor>[];
    const mean = tensor(Float64Array.of(15.5, 21), { device: 'cpu:1' });
    expect(results.map(({ values }) => values[1])).toEqual([
      mean,
      tensor(Float64Array.of(1.5), { device: 'cpu:1' }),
      mean,
    ]);
    expect(results.map(memories)).toEqual([1, 1, 1]);
    const elsewhere = ['cpu:5', 'cpu:6', 'cpu:7'];
    const moved = (await make().reduce(ReduceOp.SUM, value, elsewhere, { sharedResult })) as Mirrored<Tensor>;
    expect([moved.values.length, memories(moved)]).toEqual([3, 1]);
  });

  it('gathers into one memory for all devices', async () => {
    const gathered = (await make().gather(value, value, 0, { sharedResult })) as Mirrored<Tensor>;
    expect(gathered.values).toEqual([on('cpu:0', 1, 2, 30, 40), on('cpu:1', 1, 2, 30, 40)]);
    expect(memories(gathered)).toBe(1);
  });

  it('does not return the memory of a sparse value that the caller passed', async () => {
    const one = new IndexedSlices(on('cpu:0', 3), tensor(Int32Array.of(0), { device: 'cpu:0' }), [9]);
    const sparse = new PerReplica([one]);
    const moved = (await make().reduce(ReduceOp.SUM, sparse, ['cpu:1', 'cpu:2'], {
      sharedResult,
    })) as Mirrored<IndexedSlices>;
    expect(moved.primary.values.data).toEqual(one.values.data);
    expect(moved.values.some(({ values }) => values.data === one.values.data)).toBe(false);
  });
});

it('replicas of one thread that request a shared result get it in the same memory', async () => {
  const ops = new TestedAllReduce({ world: portableWorld(['cpu:0', 'cpu:1']) });
  const calls = [0, 1].map((replica) =>
    ops.allReduce(ReduceOp.SUM, Int32Array.of(1 + replica), replica, { sharedResult }),
  );
  const [first, second] = (await Promise.all(calls)) as Tensor[];
  expect([first?.data, second?.data]).toEqual([Int32Array.of(3), Int32Array.of(3)]);
  expect(second?.data).toBe(first?.data);
});

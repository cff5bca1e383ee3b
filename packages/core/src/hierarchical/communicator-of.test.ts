import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { describe, expect, it } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { CrossDeviceOps } from '../ops/cross-device-ops.js';
import type { PossiblyMirrored } from '../values/distributed-values.js';
import { mirror } from '../values/regroup.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import { communicatorOf } from './communicator-of.js';

const devices = ['cpu:0', 'cpu:1', 'cpu:2'];
const ops = new ReductionToOneDevice();
const ints = (...elements: readonly number[]) => tensor(Int32Array.from(elements));
const inputs = [ints(1, 2), ints(10, 20), ints(100, 200)];

async function outcome(collective: Collective, like: Tensor): Promise<number[][]> {
  const outputs = devices.map(() => zeros(like.dtype, like.shape));
  await communicatorOf(ops, devices).run(collective, inputs, outputs);
  return outputs.map(({ data }) => Array.from(data, Number));
}

describe('cross-device ops as a communicator', () => {
  it('support all-reduce, gather and broadcast', async () => {
    expect(await outcome({ kind: 'all-reduce', op: 'max' }, zeros('int32', [2]))).toEqual(
      devices.map(() => [100, 200]),
    );
    expect(await outcome({ kind: 'all-reduce', op: 'mean' }, zeros('float64', [2]))).toEqual(
      devices.map(() => [37, 74]),
    );
    expect(await outcome({ kind: 'broadcast', root: 1 }, zeros('int32', [2]))).toEqual(devices.map(() => [10, 20]));
    const gathered = [1, 2, 10, 20, 100, 200];
    expect(await outcome({ kind: 'all-gather' }, zeros('int32', [6]))).toEqual(devices.map(() => gathered));
  });

  it('reduce to the root only', async () => {
    const alone = [
      [0, 0],
      [0, 0],
      [111, 222],
    ];
    expect(await outcome({ kind: 'reduce', op: 'sum', root: 2 }, zeros('int32', [2]))).toEqual(alone);
  });

  it('support one device, and return floats for its mean of integers', async () => {
    const result = zeros('float64', [2]);
    await communicatorOf(ops, ['cpu:0']).run({ kind: 'all-reduce', op: 'mean' }, [ints(1, 2)], [result]);
    expect([...result.data]).toEqual([1, 2]);
  });

  it('support neither reduce-scatter, nor all-to-all, nor synchronous calls', async () => {
    const communicator = communicatorOf(ops, devices);
    const scatter = { kind: 'reduce-scatter', op: 'sum' } as const;
    expect(communicator.refuses(scatter, 'int32')).toMatch(
      /reduction-to-one is available as cross-device ops only.*not reduce-scatter/,
    );
    expect(communicator.refuses({ kind: 'all-to-all' }, 'int32')).toMatch(/but not all-to-all/);
    await expect(communicator.run(scatter, inputs, inputs)).rejects.toMatchObject({ code: 'ERR_COLL_REFUSED' });
    expect(() => communicator.runSync(scatter, inputs, inputs)).toThrow(/cannot block the thread: use run/);
    expect(() => communicatorOf(ops, [])).toThrow('a group must have 1 rank or more, got 0');
  });

  it.each<[string, PossiblyMirrored, RegExp]>([
    ['one result for all', ints(1, 2), /careless returned 1 results for 3 devices/],
    [
      'shorter results',
      mirror(devices.map(() => ints(1))),
      /1 elements of int32 for rank 0, which needs 2 elements of int32/,
    ],
    ['another dtype', mirror(devices.map(() => tensor([1, 2]))), /2 elements of float64 for rank 0/],
    ['nothing', undefined as never, /and nothing for rank 0/],
  ])('must return valid results, not %s', async (_, result, message) => {
    class Careless extends CrossDeviceOps {
      readonly name = 'careless';
      protected override async reduceImplementation(): Promise<PossiblyMirrored> {
        return result;
      }
    }
    const outputs = devices.map(() => zeros('int32', [2]));
    const running = communicatorOf(new Careless(), devices).run({ kind: 'all-reduce', op: 'sum' }, inputs, outputs);
    await expect(running).rejects.toMatchObject({ code: 'ERR_COLL_BUFFER', message: expect.stringMatching(message) });
  });

  it('stay open when the communicator closes', async () => {
    const communicator = communicatorOf(ops, devices);
    await communicator.close();
    await expect(ops.broadcast(ints(1), ['cpu:0'])).resolves.toBeDefined();
  });
});

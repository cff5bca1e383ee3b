import { type CrossDeviceOps, PerReplica, type Tensor, tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { MultiWorkerExtended } from './multi-worker-extended.js';
import type { WorkerCollectives } from './worker-collectives.js';

const nameOf = (device: string) => `/job:worker/replica:0/task:1/device:${device}`;
const host = nameOf('CPU:0');

/**
 * The lower-level methods of a worker, on a test double of ops that records its calls and returns
 * values unchanged.
 */
function extendedOf(devices: number, workers: number) {
  const asked: unknown[][] = [];
  const opsOf = (name: string) =>
    ({
      reduce: async (op: string, value: Tensor, destinations: unknown) => {
        asked.push([name, op, value.device, destinations]);
        return value;
      },
      batchReduce: async (op: string, pairs: readonly (readonly [Tensor, unknown])[]) => {
        asked.push([name, op, pairs.length]);
        return pairs.map(([value]) => value);
      },
      gather: async (value: Tensor, destinations: unknown, axis: number) => {
        asked.push([name, 'gather', value.device, destinations, axis]);
        return value;
      },
    }) as unknown as CrossDeviceOps;
  const collectives = { deviceOps: async () => opsOf('devices'), hostOps: async () => opsOf('host') };
  const extended = new MultiWorkerExtended(strategyOf(1), {
    worker: { workers, idInCluster: 1, isChief: false, task: { taskType: 'worker', taskId: 1 } },
    devices: Array.from({ length: devices }, (_, device) => nameOf(`GPU:${device}`)),
    host,
    collectives: collectives as unknown as WorkerCollectives,
  });
  return { extended, asked };
}

describe('a value that is not distributed', () => {
  it('is combined on the CPU of each worker with several devices', async () => {
    const { extended, asked } = extendedOf(2, 2);
    await extended.reduceTo('SUM', tensor([1]), 'gpu:1');
    await extended.gatherTo(tensor([1]), 'gpu:1', 0);
    expect(asked).toEqual([
      ['host', 'SUM', host, nameOf('GPU:1')],
      ['host', 'gather', host, nameOf('GPU:1'), 0],
    ]);
  });

  it('is combined on the device of each worker with one device', async () => {
    const { extended, asked } = extendedOf(1, 2);
    await extended.reduceTo('SUM', tensor([1]), 'cpu:0');
    expect(asked).toEqual([['devices', 'SUM', nameOf('GPU:0'), host]]);
  });

  it('stays on its own device', async () => {
    const { extended, asked } = extendedOf(2, 2);
    await extended.reduceTo('SUM', tensor([1], { device: nameOf('GPU:7') }), 'cpu:0');
    expect(asked).toEqual([['host', 'SUM', nameOf('GPU:7'), host]]);
  });

  it('is its own mean on a single worker, and is gathered by the ops of the devices', async () => {
    const { extended, asked } = extendedOf(2, 1);
    const value = tensor([1]);
    expect(await extended.reduceTo('MEAN', value, 'cpu:0')).toBe(value);
    await extended.gatherTo(value, 'cpu:0', 0);
    expect(asked).toEqual([['devices', 'gather', host, host, 0]]);
  });
});

it('reduce treats a value with one component like a value that is not distributed', async () => {
  const { extended, asked } = extendedOf(2, 2);
  await extended.reduceTo('SUM', new PerReplica([tensor([1])]), 'cpu:0');
  await extended.reduceTo('SUM', new PerReplica([tensor([1]), tensor([2])]), 'cpu:0');
  expect(asked.map(([ops]) => ops)).toEqual(['host', 'devices']);
});

describe('a batch', () => {
  const [one, other] = [tensor([1]), tensor([3])];
  const both = () => new PerReplica([tensor([5]), tensor([6])]);

  it.each([
    ['single values', [one, other], [['host', 'SUM', 2]]],
    ['values of all devices', [both(), both()], [['devices', 'SUM', 2]]],
    [
      'both kinds, values of all devices first',
      [one, both(), other],
      [
        ['devices', 'SUM', 1],
        ['host', 'SUM', 2],
      ],
    ],
  ])('of %s is reduced with one call for single values and one for values of all devices', async (_, values, calls) => {
    const { extended, asked } = extendedOf(2, 2);
    const results = await extended.batchReduceTo(
      'SUM',
      values.map((value) => [value, 'cpu:0']),
    );
    expect(asked).toEqual(calls);
    const numbers = (value: unknown) => (value instanceof PerReplica ? 'both' : [...(value as Tensor).data]);
    expect(results.map(numbers)).toEqual(values.map(numbers));
  });
});

it.each([
  ['a name', 'cpu:2', nameOf('CPU:2')],
  ['a list of names', ['cpu:2', 'gpu:0'], [nameOf('CPU:2'), nameOf('GPU:0')]],
  ['a value on a device', tensor([1], { device: 'gpu:9' }), tensor([1], { device: 'gpu:9' })],
  ['the empty name', '', ''],
  ['a list that holds a value', ['cpu:2', 5], ['cpu:2', 5]],
])('reduceTo accepts %s as a destination on this worker', async (_, destinations, placed) => {
  const { extended, asked } = extendedOf(2, 2);
  await extended.reduceTo('SUM', new PerReplica([tensor([1]), tensor([2])]), destinations as never);
  expect(asked[0]?.[3]).toEqual(placed);
});

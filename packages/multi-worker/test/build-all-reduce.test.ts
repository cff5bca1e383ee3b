import { registry, type Tensor, tensor, ValueError } from '@coll/core';
import {
  buildNcclAllReduce,
  buildNcclThenRecursiveHd,
  buildNcclThenRing,
  buildNcclThenShuffle,
  buildRecursiveHdAllReduce,
  buildRingAllReduce,
  buildShuffleAllReduce,
  buildShuffleThenRing,
  buildShuffleThenShuffle,
  splitGradsBySize,
} from '@coll/multi-worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { ncclDouble, reducedBy } from './nccl-double.ts';

// Two tasks in turn, so that results have to find their way back.
const devices = [0, 1, 0, 1].map((task, index) => `/job:worker/task:${task}/device:GPU:${index >> 1}`);
const ramp = (rank: number, length = 11) => Float32Array.from({ length }, (_, element) => (rank + 1) * (element - 4));
const tensors = devices.map((device, rank) => tensor(ramp(rank), { device }));
const cpus = ['/job:worker/task:0/cpu:0', '/job:worker/task:1/cpu:0'];
const total = Array.from(ramp(9));

beforeAll(() => registry.register(ncclDouble));

async function expectTotal(results: Promise<readonly Tensor[]>): Promise<void> {
  const found = await results;
  expect(found.map(({ device }) => device)).toEqual(devices);
  for (const { data } of found) expect([...data]).toEqual(total);
}

describe('building an all-reduce of a list of tensors', () => {
  it.each<[string, () => Promise<Tensor[]>]>([
    ['a ring', () => buildRingAllReduce(tensors, 2, 2, [1, 0])],
    ['recursive halving and doubling', () => buildRecursiveHdAllReduce(tensors)],
    ['a shuffle over one device', () => buildShuffleAllReduce(tensors, ['/job:ps/task:0/cpu:0'])],
    [
      'a shuffle over devices, one twice',
      () => buildShuffleAllReduce(tensors, [devices[2] as string, ...cpus, devices[2] as string]),
    ],
    ['NCCL', () => buildNcclAllReduce(tensors)],
    ['NCCL, then a ring', () => buildNcclThenRing(tensors, 1)],
    ['NCCL, then halving and doubling', () => buildNcclThenRecursiveHd(tensors)],
    ['NCCL, then a shuffle', () => buildNcclThenShuffle(tensors, cpus)],
    ['a shuffle, then a ring', () => buildShuffleThenRing(tensors, cpus, 1)],
    ['a shuffle, then a shuffle', () => buildShuffleThenShuffle(tensors, cpus, cpus)],
  ])('with %s returns the sum for every device, in the order of the list', async (_, build) => {
    await expectTotal(build());
    tensors.forEach(({ data }, rank) => {
      expect(data).toEqual(ramp(rank));
    });
  });

  it('with NCCL and a ring uses NCCL only between devices of the same task', async () => {
    reducedBy.length = 0;
    await buildNcclThenRing(tensors, 1);
    expect(reducedBy).toEqual([
      [devices[0], devices[2]],
      [devices[1], devices[3]],
    ]);
  });

  it('supports other ops, and applies a given function to every result', async () => {
    const doubled = ({ data, ...others }: Tensor) => ({
      ...others,
      data: (data as Float32Array).map((value) => 2 * value),
    });
    const results = await buildRecursiveHdAllReduce(tensors, 'max', doubled);
    const largest = Array.from(ramp(0), (value) => 2 * Math.max(value, 4 * value));
    for (const { data } of results) expect([...data]).toEqual(largest);
  });

  it('keeps shapes, and supports a single tensor', async () => {
    const one = tensor(Float32Array.of(1, 2), { shape: [1, 2], device: 'cpu:0' });
    for (const [result] of [await buildShuffleAllReduce([one], ['cpu:0']), await buildRecursiveHdAllReduce([one])]) {
      expect([result?.shape, ...(result?.data ?? [])]).toEqual([[1, 2], 1, 2]);
    }
  });

  it.each<[string, () => Promise<Tensor[]>]>([
    ['a ring of one', () => buildRingAllReduce(tensors.slice(0, 1), 1, 1, [0])],
    ['a ring of the wrong size', () => buildRingAllReduce(tensors, 3, 1, [0])],
    ['more sub-chunks than devices', () => buildRingAllReduce(tensors, 4, 2, [0])],
    ['halving across three devices', () => buildRecursiveHdAllReduce(tensors.slice(0, 3))],
    ['no tensors', () => buildRecursiveHdAllReduce([])],
    ['no tensors to shuffle', () => buildShuffleAllReduce([], cpus)],
    ['no gather devices', () => buildShuffleAllReduce(tensors, [])],
    ['different shapes', () => buildShuffleAllReduce([tensors[0] as Tensor, tensor(1, { dtype: 'float32' })], cpus)],
    ['NCCL for the maximum', () => buildNcclAllReduce(tensors, 'max')],
    ['sub-chunks of one value per task', () => buildNcclThenRing(tensors, 2)],
    ['too few gather devices', () => buildShuffleThenRing(tensors, cpus.slice(1), 1)],
    ['tasks of different sizes', () => buildNcclThenRecursiveHd(tensors.slice(0, 3))],
  ])('refuses %s', async (_, build) => {
    await expect(build()).rejects.toBeInstanceOf(ValueError);
  });
});

describe('splitGradsBySize', () => {
  it('splits every list at the same tensors', () => {
    const lists = [0, 1].map((rank) => [3, 1, 4].map((length) => tensor(ramp(rank, length))));
    const { small, large } = splitGradsBySize(3, lists);
    expect(small.map((list) => list.map(({ data }) => data.length))).toEqual([
      [3, 1],
      [3, 1],
    ]);
    expect(large.map((list) => list.map(({ data }) => data.length))).toEqual([[4], [4]]);
    expect(splitGradsBySize(3, [])).toEqual({ small: [], large: [] });
    expect(() => splitGradsBySize(3, [lists[0] as Tensor[], []])).toThrow(ValueError);
  });
});

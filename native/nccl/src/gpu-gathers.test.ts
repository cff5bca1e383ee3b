import { PerReplica, tensor } from '@coll/core';
import { expect, it } from 'vitest';
import { GpuGathers } from './gpu-gathers.js';
import type { GpuRanks } from './gpu-groups.js';

const value = new PerReplica([tensor([1], { device: 'cpu:0' })]);

/** The first of two processes, of which the other one tells this. */
const besides = (line: string): GpuRanks => ({
  of: () => Promise.reject(new Error('nothing is to be opened')),
  meet: (_devices, own, _options, then) =>
    then([own, line], () => Promise.reject(new Error('nothing is to be opened'))),
  close: async () => undefined,
});

it('a gather of different numbers of values is reported to all processes', async () => {
  await expect(new GpuGathers(besides('[]')).gather(value, value, 0, {})).rejects.toMatchObject({
    name: 'InternalError',
    code: 'ERR_COLL_MISMATCH',
    message: 'join: process 0 gathers 1 values, process 1 gathers 0; all processes must make the same calls',
    rank: 1,
  });
});

it('a gather leaves values without a GPU to the host, whatever other processes have', async () => {
  const other = [{ forms: [[{ dtype: 'float64', shape: [1] }]], fits: true, isOnGpu: true }];
  expect(await new GpuGathers(besides(JSON.stringify(other))).gather(value, value, 0, {})).toBeUndefined();
});

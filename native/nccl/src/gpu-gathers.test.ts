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

it('processes that gather different numbers of values all get an error', async () => {
  await expect(new GpuGathers(besides('[]')).gather(value, value, 0, {})).rejects.toMatchObject({
    name: 'InternalError',
    code: 'ERR_COLL_MISMATCH',
    message: 'join: process 0 gathers 1 values, process 1 gathers 0; all processes must make the same calls',
    rank: 1,
  });
});

it('values on the CPU of a process are gathered on the host, even if those of other processes are on GPUs', async () => {
  const other = [{ forms: [[{ dtype: 'float64', shape: [1] }]], fits: true, isOnGpu: true }];
  expect(await new GpuGathers(besides(JSON.stringify(other))).gather(value, value, 0, {})).toBeUndefined();
});

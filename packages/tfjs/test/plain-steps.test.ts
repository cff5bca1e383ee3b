import { setLogSink } from '@coll/core';
import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { afterEach, expect, it } from 'vitest';
import type { Work } from './fixtures/plain-steps.ts';

const module = new URL('./fixtures/plain-steps.ts', import.meta.url);
const warning = expect.stringMatching(
  /^optimizers stepped on several replicas in this run, but gradients were not averaged, .*; if they should train one model, compile the model with distributedOptimizer\(tf, optimizer, replica\), also after loading it$/,
);

afterEach(() => setLogSink());

it('warns once at the end of each run in which only optimizers stepped that are not distributed', async () => {
  await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });
  const lines: string[] = [];
  setLogSink((level, message) => {
    if (level === 'warn') lines.push(message);
  });
  const linesOf = async (work: Work) => {
    lines.length = 0;
    await strategy.run(module, { exportName: 'plainSteps', args: [work] });
    return [work, ...lines];
  };
  expect(await linesOf('predict')).toEqual(['predict']);
  expect(await linesOf('train plainly')).toEqual(['train plainly', warning]);
  expect(await linesOf('train with the distributed optimizer')).toEqual(['train with the distributed optimizer']);
  expect(await linesOf('load, and train plainly')).toEqual(['load, and train plainly', warning]);
  expect(await linesOf('reduce gradients')).toEqual(['reduce gradients']);
  expect(await linesOf('search')).toEqual(['search']);
  expect(await linesOf('train on replica 0')).toEqual(['train on replica 0']);
});

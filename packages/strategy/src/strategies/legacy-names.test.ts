import { PerReplica, setLogSink } from '@coll/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MirroredStrategy } from './mirrored-strategy.js';

const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const lines: string[] = [];
beforeEach(() => setLogSink((level, line) => lines.push(`${level} ${line}`)));
afterEach(() => {
  lines.length = 0;
  setLogSink();
});

it('unwrap calls experimentalLocalResults, and warns once', () => {
  const value = new PerReplica([1, 2]);
  for (const given of [value, 3, { a: value }])
    expect(strategy.unwrap(given)).toEqual(strategy.experimentalLocalResults(given));
  expect(lines).toEqual(['warn unwrap is deprecated; use experimentalLocalResults instead']);
});

it('experimentalRunV2 calls run, and warns once', async () => {
  for (const factor of [1, 2]) {
    const results = await strategy.experimentalRunV2(
      (replica, times: number) => times * (replica.replicaIdInSyncGroup + 1),
      { args: [factor] },
    );
    expect(strategy.experimentalLocalResults(results)).toEqual([factor, 2 * factor]);
  }
  expect(lines.filter((line) => line.startsWith('warn'))).toEqual([
    'warn experimentalRunV2 is deprecated; use run instead',
  ]);
});

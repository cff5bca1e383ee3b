import { setLogSink } from '@coll/core';
import { afterEach, describe, expect, it } from 'vitest';
import { filesOfWorker, shardingOf } from './auto-shard.js';

describe('the sharding of a dataset across workers', () => {
  afterEach(() => setLogSink());

  it.each([
    ['AUTO', undefined, 2, 'DATA'],
    ['AUTO', 2, 2, 'FILE'],
    ['AUTO', 5, 2, 'FILE'],
    ['FILE', 3, 3, 'FILE'],
    ['DATA', 9, 3, 'DATA'],
    ['OFF', 9, 3, 'OFF'],
    ['FILE', undefined, 1, 'DATA'],
    ['OFF', undefined, 1, 'DATA'],
  ] as const)('for the policy %s, %s files and %i workers is %s', (policy, files, workers, sharding) => {
    expect(shardingOf(policy, files, workers)).toBe(sharding);
  });

  it('is by data, without a warning, for a dataset without files', () => {
    const lines: string[] = [];
    setLogSink((level, message) => lines.push(`${level}: ${message}`));
    expect(shardingOf('AUTO', undefined, 3)).toBe('DATA');
    expect(lines).toEqual([]);
  });

  it('is by data, with a warning, for fewer files than workers', () => {
    const lines: string[] = [];
    setLogSink((level, message) => lines.push(`${level}: ${message}`));
    expect(shardingOf('AUTO', 2, 3)).toBe('DATA');
    expect(shardingOf('AUTO', 2, 3)).toBe('DATA');
    expect(lines).toEqual([expect.stringMatching(/^warn: a dataset of 2 files has too few files for 3 workers/)]);
  });

  it.each([
    [undefined, 'a dataset without a list of files'],
    [0, 'a dataset of 0 files'],
    [2, 'a dataset of 2 files'],
  ])('across three workers is refused for the policy FILE with %s files', (files, what) => {
    const message = `${what} cannot be sharded by file across 3 workers: pass { files, read }`;
    const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE', message: expect.stringContaining(message) };
    expect(() => shardingOf('FILE', files, 3)).toThrow(expect.objectContaining(refused));
  });
});

describe('the files of a worker', () => {
  it('are assigned in rotation, each to one worker', () => {
    const files = ['a', 'b', 'c', 'd', 'e'];
    expect([0, 1, 2].map((worker) => filesOfWorker(files, 3, worker))).toEqual([['a', 'd'], ['b', 'e'], ['c']]);
  });
});

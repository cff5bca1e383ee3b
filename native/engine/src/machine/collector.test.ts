import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { collectorFlags } from './collector.js';

it.each([
  [3, 4, []],
  [4, 4, ['--no-incremental-marking']],
  [5, 4, ['--no-incremental-marking']],
])('%i ranks on %i cores collect garbage with %j', (ranks, cores, expected) => {
  expect(collectorFlags(ranks, cores)).toEqual(expected);
});

it('this Node.js knows the options', () => {
  const printed = execFileSync(process.execPath, [...collectorFlags(1, 1), '-p', 'process.execArgv[0]'], {
    encoding: 'utf8',
  });
  expect(printed).toBe('--no-incremental-marking\n');
});

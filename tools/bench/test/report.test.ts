import { expect, it } from 'vitest';
import { type Row, rowOf } from '../src/report/row.js';
import { rowsTable } from '../src/report/rows-table.js';
import type { Trial } from '../src/trial.js';

const machine = { date: '2030-01-02T03:04:05.000Z', node: '20.0.0', cpu: 'A Processor', cpus: 2 };
const trial: Trial = {
  suite: 'in-process',
  name: 'ring still',
  work: { type: 'collective', kind: 'all-reduce' },
  engine: 'js',
  form: 'sync',
  algorithm: 'ring',
  input: 'still',
  place: 'in',
  ranks: 2,
  counts: [1_000_000],
};
const nothing = { meanMicros: 1, boundSamples: [], ticks: undefined, foreignLoad: undefined, machine };
const row = rowOf(trial, {
  ...nothing,
  samples: [1000, 2000, 3000],
  meanMicros: 2500,
  copySamples: [500],
  foreignLoad: 0.02,
});

it('a result row describes its trial and summarises the samples', () => {
  expect(row).toEqual({
    suite: 'in-process',
    case: 'ring still',
    engine: 'js',
    level: 'communicator',
    form: 'sync',
    algorithm: 'ring',
    input: 'still',
    place: 'in',
    ranks: 2,
    bytes: 4_000_000,
    medianMicros: 2000,
    meanMicros: 2500,
    minMicros: 1000,
    p95Micros: 3000,
    algGBs: 2,
    busGBs: 2,
    copyMicros: 500,
    copyRatio: 4,
    samples: 3,
    foreignLoad: 0.02,
    ...machine,
  });
});

it.each([
  [{ type: 'context', memory: 'known' }, 'context'],
  [{ type: 'reduce', memory: 'known' }, 'ops'],
  [{ type: 'batch', bytesPerPack: 0 }, 'ops'],
  [{ type: 'pieces' }, 'communicator'],
  [{ type: 'run' }, 'strategy'],
] as const)('a result row of %o names the level %s', (work, level) => {
  expect(rowOf({ ...trial, work }, { ...nothing, samples: [1], copySamples: [1] })).toMatchObject({ level });
});

it('a result row names the peer library and the neural network', () => {
  const theirs: Trial = { ...trial, suite: 'gradients', engine: 'peer', peer: 'openmpi', gradients: 'resnet50' };
  const findings = { ...nothing, samples: [1], copySamples: [1] };
  expect(rowOf(theirs, findings)).toMatchObject({ peer: 'openmpi', gradients: 'resnet50' });
  expect(rowOf(theirs, findings)).not.toHaveProperty('level');
  expect(rowOf(theirs, findings)).not.toHaveProperty('foreignLoad');
  expect(rowOf(theirs, findings)).not.toHaveProperty('boundShare');
});

it('a result row contains the ratio to the memory-bandwidth bound, and how punctual timers were', () => {
  const ticks = { count: 50, onTimeShare: 0.98, worstMillis: 6 };
  const findings = { ...nothing, samples: [200], copySamples: [1], boundSamples: [100, 90, 110], ticks };
  expect(rowOf(trial, findings)).toMatchObject({
    boundMicros: 100,
    boundShare: 0.5,
    timers: 50,
    onTimeShare: 0.98,
    worstTimerMillis: 6,
  });
});

it('a report is printed as a table for the terminal', () => {
  expect(rowsTable([row], 'terminal')).toMatch(
    /│ ring still │ js sync │ +2 │ 3.8 MiB │ 2.00 ms │ 2.50 ms │ 1.00 ms │ 3.00 ms │ +2.00 │ +2.00 │/,
  );
});

it('a report is printed as Markdown, with one line per case and size, and without empty columns', () => {
  const rows: Row[] = [row, { ...row, bytes: 4, medianMicros: 0.5 }];
  expect(
    rowsTable(rows, 'markdown'),
  ).toBe(`| case | engine | ranks | size | median | mean | min | p95 | alg GB/s | bus GB/s | copies |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| ring still | js sync | 2 | 3.8 MiB | 2.00 ms | 2.50 ms | 1.00 ms | 3.00 ms | 2.00 | 2.00 | 4.00 |
| ring still | js sync | 2 | 4 B | 0.500 µs | 2.50 ms | 1.00 ms | 3.00 ms | 2.00 | 2.00 | 4.00 |`);
});

import { expect, it } from 'vitest';
import { markdownOf } from '../src/report/markdown.js';
import { type Row, rowOf } from '../src/report/row.js';
import { tableOf } from '../src/report/table.js';
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
  expect(tableOf([row])).toMatch(
    /│ ring still │ js sync │ +2 │ 3.8 MiB │ 2.00 ms │ 2.50 ms │ 1.00 ms │ 3.00 ms │ +2.00 │ +2.00 │/,
  );
});

it('a report is printed as Markdown with one line per case and one column per size', () => {
  const rows: Row[] = [
    row,
    { ...row, bytes: 4, medianMicros: 0.5, copyMicros: 0.25 },
    { ...row, case: 'direct still' },
  ];
  expect(markdownOf(rows, 3)).toBe(`A Processor, 2 cores, Node 20.0.0, 2030-01-02. Medians of
3 to 3 samples in 3 rounds. For half of the cases 95 % of the samples are within
1.50 times the median, for the worst 6000.
Other programs took up to 2.00 % of the machine.

### in-process, 2 ranks

| case | engine | 4 B | 3.8 MiB |
| --- | --- | ---: | ---: |
| ring still | js sync | 0.500 µs | 2.00 ms |
| direct still | js sync |  | 2.00 ms |
| plain copy |  | 0.250 µs | 500 µs |
`);
});

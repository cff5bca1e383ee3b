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
  engine: 'portable',
  algorithm: 'ring',
  input: 'still',
  ranks: 2,
  counts: [1_000_000],
};
const row = rowOf(trial, { samples: [1000, 2000, 3000], copySamples: [500], machine, foreignLoad: 0.02 });

it('makes a row of a trial and its samples', () => {
  expect(row).toEqual({
    suite: 'in-process',
    case: 'ring still',
    engine: 'portable',
    algorithm: 'ring',
    input: 'still',
    ranks: 2,
    bytes: 4_000_000,
    medianMicros: 2000,
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

it('names the peer, and what was packed', () => {
  const work = { type: 'batch', gradients: 'resnet50', bytesPerPack: 0 } as const;
  const theirs: Trial = { ...trial, suite: 'packing', engine: 'peer', peer: 'openmpi', work };
  const findings = { samples: [1], copySamples: [1], machine, foreignLoad: undefined };
  expect(rowOf(theirs, findings)).toMatchObject({ peer: 'openmpi', gradients: 'resnet50' });
  expect(rowOf(theirs, findings)).not.toHaveProperty('foreignLoad');
});

it('prints a table for the terminal', () => {
  expect(tableOf([row])).toMatch(
    /│ ring still │ portable │ +2 │ 3.8 MiB │ 2.00 ms │ 1.00 ms │ 3.00 ms │ +2.00 │ +2.00 │/,
  );
});

it('prints Markdown with a line a case and a column a size', () => {
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
| ring still | portable | 0.500 µs | 2.00 ms |
| direct still | portable |  | 2.00 ms |
| plain copy |  | 0.250 µs | 500 µs |
`);
});

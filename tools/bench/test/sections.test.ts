import { describe, expect, it } from 'vitest';
import { chartsOf, scalingChart } from '../src/report/charts.js';
import { docsSection } from '../src/report/docs-section.js';
import { reportOf } from '../src/report/figures.js';
import { readmeSection } from '../src/report/readme-section.js';
import { formatResults, parseResults, withNewRows } from '../src/report/results.js';
import type { FailedRow, Row } from '../src/report/row.js';

const machine = { date: '2030-01-02T03:04:05.000Z', node: '20.0.0', cpu: 'A Processor', cpus: 2, foreignLoad: 0.01 };
const base: Row = {
  ...machine,
  suite: 'in-process',
  case: 'direct fresh',
  engine: 'native',
  form: 'sync',
  input: 'fresh',
  place: 'in',
  ranks: 2,
  bytes: 4,
  medianMicros: 0.25,
  meanMicros: 0.3,
  minMicros: 0.2,
  p95Micros: 0.5,
  algGBs: 0.016,
  busGBs: 0.016,
  copyMicros: 0.01,
  copyRatio: 25,
  samples: 10,
};

const { form: _, ...unformed } = base;
const peer = (name: string, medianMicros: number, more: Partial<Row> = {}): Row => ({
  ...unformed,
  case: name,
  engine: 'peer',
  peer: name,
  medianMicros,
  ...more,
});
const gradients = { suite: 'gradients', gradients: 'resnet50', input: 'still', bytes: 102_228_128 } as const;
const rows: Row[] = [
  { ...unformed, case: 'update fresh', engine: 'bound', medianMicros: 0.2 },
  { ...base, boundMicros: 0.2, boundShare: 0.8 },
  { ...base, engine: 'js', medianMicros: 5 },
  ...(['sync', 'async', 'controller'] as const).map(
    (form) => ({ ...base, case: 'direct still', input: 'still', form }) as const,
  ),
  peer('openmpi', 0.5),
  peer('openmpi-tuned', 0.375),
  peer('gloo', 100),
  { ...base, ...gradients, case: 'resnet50 per tensor', medianMicros: 10_000 },
  peer('openmpi', 45_000, { ...gradients, case: 'resnet50 per tensor' }),
  {
    ...base,
    suite: 'event-loop',
    case: 'timers direct',
    form: 'async',
    timers: 1000,
    onTimeShare: 0.9955,
    worstTimerMillis: 7.5,
  },
];

const context = { ...base, suite: 'strategy', input: 'still', level: 'context' } as const;
const ofOps = { ...base, suite: 'ops', input: 'still', level: 'ops', form: 'controller' } as const;
const calledRows: Row[] = [
  { ...context, case: 'communicator direct', level: 'communicator', medianMicros: 0.4 },
  { ...context, case: 'allReduceSync direct', medianMicros: 4, meanMicros: 4.5 },
  {
    ...context,
    case: 'allReduceSync direct into other memory',
    place: 'out',
    bytes: 1024,
    medianMicros: 6,
    meanMicros: 6.5,
  },
  { ...context, case: 'allReduceSync direct', engine: 'js', medianMicros: 40 },
  { ...ofOps, case: 'reduce direct of new memory', medianMicros: 20, meanMicros: 21 },
  { ...ofOps, case: 'batchReduce of 100 direct into a new result', bytes: 400, medianMicros: 850, meanMicros: 900 },
  peer('mpi4py', 1, { suite: 'strategy', input: 'still', case: 'mpi4py still', meanMicros: 1.1 }),
  {
    ...context,
    ...gradients,
    suite: 'strategy',
    case: 'resnet50 allReduceSync direct',
    medianMicros: 9000,
    meanMicros: 9500,
  },
  { ...unformed, suite: 'strategy', case: 'update still', engine: 'bound', input: 'still', bytes: gradients.bytes },
  peer('mpi4py', 45_000, { ...gradients, suite: 'strategy', case: 'resnet50 mpi4py still', meanMicros: 46_000 }),
];

const unshown = { suite: 'in-process', input: 'still', place: 'in', ranks: 2, bytes: 64 } as const;
const another = { cpu: 'Another Processor', cpus: 4, date: '2031-02-03T00:00:00.000Z' };
const onAnother: Row[] = [{ ...base, ...another, medianMicros: 0.2 }, peer('openmpi', 0.24, another)];

describe('the benchmark section of the docs', () => {
  const section = docsSection(rows);

  it('states the machine and the date of the measurement', () => {
    expect(section).toContain('A Processor, 2 cores, Node 20.0.0, 2030-01-02.');
  });

  it('compares coll with the fastest peer library and with the memory-bandwidth bound', () => {
    expect(section).toContain('#### 2 ranks, fresh inputs, in place');
    expect(section).toContain('| 4 B | 0.250 µs | 5.00 µs | 0.500 µs | 0.375 µs | 100 µs | **1.50** | 80.0 % |');
    expect(section).toContain('| ResNet-50, 97.5 MiB, per tensor | 10.0 ms | 45.0 ms | **4.50** |');
  });

  it('states the cost of a promise, and the delay of timers', () => {
    expect(section).toContain('| 4 B | 0.250 µs | 0.250 µs | 0.250 µs |');
    expect(section).toContain('| 2 ranks, 4 B, native async | 0.250 µs | 1000 | 99.55 % | 7.50 ms |');
  });

  it('compares processes with threads, and with peer libraries over the same transport', () => {
    const processes = { suite: 'processes', ranks: 4, bytes: 1024 } as const;
    const over = { ...base, ...processes, transport: 'shared-memory' } as const;
    const taken: Row[] = [
      { ...base, ...processes, medianMicros: 1 },
      { ...over, memory: 'arena', medianMicros: 1.05, boundShare: 0.5 },
      { ...over, memory: 'ordinary', form: 'async', medianMicros: 2.5 },
      { ...over, memory: 'ordinary', medianMicros: 2 },
      { ...over, memory: 'ordinary', transport: 'tcp', medianMicros: 10 },
      peer('openmpi', 4.2, processes),
      peer('openmpi-tcp', 15, processes),
    ];
    const page = docsSection(taken);
    expect(page).toContain('### Communicators of processes over shared memory, 4 ranks');
    expect(page).toContain(
      '| 1 KiB | 1.05 µs | 2.00 µs | 2.50 µs | 1.00 µs | 4.20 µs | **4.00** | **2.10** | 1.05 | 50.0 % |',
    );
    expect(page).toContain('|  | ordinary arrays | Open MPI, TCP | times faster |');
    expect(page).toContain('| 1 KiB | 10.0 µs | 15.0 µs | **1.50** |');
  });

  it('begins with application-level calls and states the level of each', () => {
    const page = docsSection([...rows, ...calledRows]);
    expect(page.indexOf('### Application-level calls')).toBeLessThan(page.indexOf('### All-reduce of one buffer'));
    expect(page).toContain('|  | level | 4 B | 1 KiB |\n');
    expect(page).toContain(
      '| worker threads, `allReduceSync`: the same array again, `into` itself | context | 4.00 µs (4.50 µs) |  |',
    );
    expect(page).toContain(
      '| worker threads, `allReduceSync`: the same array again, `into` another one | context |  | 6.00 µs (6.50 µs) |',
    );
    expect(page).toContain('| `reduce`: a new array in each call, `into` itself | ops | 20.0 µs (21.0 µs) |  |');
    expect(page).toContain(
      '| `batchReduce` of 100 pairs: the same array again, no `into` | ops | 850 µs (900 µs) |  |',
    );
    expect(page).toContain(
      '| processes, `Allreduce`: the same array again, in place | mpi4py | 1.00 µs (1.10 µs) |  |',
    );
    expect(page).toContain('| worker threads, `runSync`: the same array again, in place | communicator | 0.400 µs');
    expect(page).toContain('| ResNet-50 | 9.00 ms (9.50 ms) | 45.0 ms (46.0 ms) | **5.00** |');
    expect(page).not.toContain('run` of a module');
  });

  it('states machine and date separately for application-level calls and for communicators', () => {
    const later = calledRows.map((row) => ({ ...row, cpu: 'Another Processor', date: '2031-02-03T00:00:00.000Z' }));
    const page = docsSection([...rows, ...later]);
    expect(page.indexOf('Another Processor, 2 cores, Node 20.0.0, 2031-02-03.')).toBe(0);
    expect(page.indexOf('A Processor, 2 cores, Node 20.0.0, 2030-01-02.')).toBeGreaterThan(
      page.indexOf('### Application-level'),
    );
  });

  it('shows CPUs side by side, with the date of each', () => {
    expect(section).not.toContain('on several CPUs');
    const page = docsSection([...rows, ...onAnother]);
    expect(page).toContain('### All-reduce of one buffer on several CPUs, 2 ranks');
    expect(page).toContain(
      '- A Processor, 2 cores, Node 20.0.0, 2030-01-02\n- Another Processor, 4 cores, Node 20.0.0, 2031-02-03',
    );
    expect(page).toContain(
      '|  | coll, A Processor, 2 cores | fastest peer | times faster | coll, Another Processor, 4 cores | fastest peer | times faster |',
    );
    expect(page).toContain('| 4 B | 0.250 µs | 0.375 µs | **1.50** | 0.200 µs | 0.240 µs | **1.20** |');
    expect(page).toContain('| 4 B | 0.250 µs | 5.00 µs | 0.500 µs | 0.375 µs | 100 µs | **1.50** | 80.0 % |');
  });

  it('omits cases that were not measured', () => {
    expect(section).not.toContain('out of place');
    expect(docsSection([])).toBe('None have been taken yet.');
  });
});

it('the README section states the speed-up over the better setting of each library', () => {
  const section = readmeSection(rows);
  expect(section).toContain('| all-reduce, 2 ranks | coll | times Open MPI | times Gloo |');
  expect(section).toContain('| 4 B | 0.250 µs | 1.50 | 400 |');
  expect(section).toContain('| gradients of ResNet-50, 97.5 MiB | 10.0 ms | 4.50 |  |');
  expect(section).toContain('2030-01-02');
});

it('the README section states the worse figure of each row, and how many CPUs have it', () => {
  const section = readmeSection([...rows, ...onAnother]);
  expect(section).toContain('| all-reduce, 2 ranks | coll | times Open MPI | times Gloo | CPUs |');
  expect(section).toContain('| 4 B | 0.250 µs | 1.20 | 400 | 2 |');
  expect(section).toContain('| gradients of ResNet-50, 97.5 MiB | 10.0 ms | 4.50 |  | 1 |');
  expect(section).toContain('A Processor, 2 cores, 2030-01-02; Another Processor, 4 cores, 2031-02-03.');
});

it('new rows replace those of the same suites and CPU, and keep those of other CPUs', () => {
  const later = { ...base, date: '2032-01-01T00:00:00.000Z' };
  const kept = rows.filter(({ suite }) => suite !== 'in-process');
  expect(withNewRows([...rows, ...onAnother], [later])).toEqual([...kept, ...onAnother, later]);
});

it('the results file keeps what the pages show, with a line per case', () => {
  const failed: FailedRow = { ...machine, ...unshown, case: 'openmpi still', engine: 'peer', failure: 'openmpi hung' };
  const all = [...rows, ...calledRows, ...onAnother, { ...base, bytes: 1024, medianMicros: 1.5 }, failed];
  const text = formatResults(all);
  expect(text.split('\n').filter((line) => line.includes('"direct fresh"') && line.includes('native'))).toHaveLength(2);
  const read = parseResults(text);
  expect(docsSection(read)).toBe(docsSection(all));
  expect(readmeSection(read)).toBe(readmeSection(all));
});

it('the README section begins with application-level calls and states the level of each', () => {
  const section = readmeSection([...rows, ...calledRows]);
  expect(section).toMatch(/^\| sum of float32, 2 replicas \| level \| 4 B \|\n/);
  expect(section).toContain(
    '| worker threads, `allReduceSync`: the same array again, `into` itself | context | 4.00 µs |',
  );
  expect(section).toContain('| processes, `Allreduce`: the same array again, in place | mpi4py | 1.00 µs |');
  expect(section.indexOf('| all-reduce, 2 ranks | coll |')).toBeGreaterThan(0);
  expect(section).not.toContain('Other programs');
  const [first, ...others] = calledRows as [Row, ...Row[]];
  expect(readmeSection([{ ...first, foreignLoad: 0.2 }, ...others])).toContain(
    `Other programs were busy during 1 of ${calledRows.length} measurements.`,
  );
});

it('the same figures always yield the same charts of time, bandwidth and ratio', () => {
  const charts = chartsOf(reportOf(rows).main);
  expect(charts.map(({ file }) => file)).toEqual(['time-2-ranks.svg', 'bandwidth-2-ranks.svg', 'ratio-2-ranks.svg']);
  for (const { svg } of charts) expect(svg).toMatch(/^<svg [\s\S]*coll, native[\s\S]*<\/svg>\n$/);
  expect(chartsOf(reportOf(rows).main)).toEqual(charts);
});

describe('the chart of the README over the number of ranks', () => {
  const processes = { suite: 'processes', bytes: 16 * 2 ** 20 } as const;
  const taken = [2, 4].flatMap((ranks): Row[] => [
    { ...base, ...processes, ranks, medianMicros: 600 * ranks },
    { ...base, ...processes, ranks, transport: 'shared-memory', memory: 'ordinary', medianMicros: 1700 * ranks },
    peer('openmpi', 2200 * ranks, { ...processes, ranks }),
  ]);

  it('shows the subjects that were measured, and states the cores, the machine and the date', () => {
    const chart = scalingChart(reportOf(taken).main);
    expect(chart?.svg).toMatch(/coll, threads[\s\S]*coll, processes[\s\S]*Open MPI[\s\S]*on 2 cores/);
    expect(chart?.svg).not.toContain('MPICH');
    expect(chart?.caption).toContain('A Processor, 2030-01-02.');
    expect(readmeSection(taken)).toContain('](docs/figures/scaling.svg)');
  });

  it('is omitted if only one number of ranks was measured', () => {
    expect(scalingChart(reportOf(taken.filter(({ ranks }) => ranks === 2)).main)).toBeUndefined();
    expect(readmeSection(rows)).not.toContain('scaling.svg');
  });
});

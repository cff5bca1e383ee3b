import { describe, expect, it } from 'vitest';
import { chartsOf } from '../src/report/charts.js';
import { docsSection } from '../src/report/docs-section.js';
import { readmeSection } from '../src/report/readme-section.js';
import type { Row } from '../src/report/row.js';

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
  peer('openmpi', 45_000, { ...gradients, case: 'resnet50 per tensor openmpi' }),
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

describe('the benchmark section of the docs', () => {
  const section = docsSection(rows);

  it('states the machine and the date of the measurement', () => {
    expect(section).toContain('A Processor, 2 cores, Node 20.0.0, 2030-01-02.');
  });

  it('compares coll with the fastest peer library and with the memory-bandwidth bound', () => {
    expect(section).toContain('#### 2 ranks, fresh inputs, in place');
    expect(section).toContain('| 4 B | 0.250 µs | 5.00 µs | 0.500 µs | 0.375 µs | 100 µs | **1.50** | 80.0 % |');
    expect(section).toContain('| ResNet-50, 97.5 MiB, per tensor | 10.0 ms | 45.0 ms | **4.50** |  |');
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
    const told = docsSection(taken);
    expect(told).toContain('### Processes over shared memory, 4 ranks');
    expect(told).toContain(
      '| 1 KiB | 1.05 µs | 2.00 µs | 2.50 µs | 1.00 µs | 4.20 µs | **4.00** | **2.10** | 1.05 | 50.0 % |',
    );
    expect(told).toContain('|  | ordinary arrays | Open MPI, TCP | times faster |');
    expect(told).toContain('| 1 KiB | 10.0 µs | 15.0 µs | **1.50** |');
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

it('the same figures always yield the same charts of time, bandwidth and ratio', () => {
  const charts = chartsOf(rows);
  expect(charts.map(({ file }) => file)).toEqual(['time-2-ranks.svg', 'bandwidth-2-ranks.svg', 'ratio-2-ranks.svg']);
  for (const { svg } of charts) expect(svg).toMatch(/^<svg [\s\S]*coll, native[\s\S]*<\/svg>\n$/);
  expect(chartsOf(rows)).toEqual(charts);
});

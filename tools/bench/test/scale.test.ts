import { describe, expect, it } from 'vitest';
import { endsIn } from '../src/scale/connections.js';
import type { ScaleRow } from '../src/scale/count.js';
import { growthExponent, scaleCharts, scaleSection } from '../src/scale/scale-section.js';

const machine = { date: '2030-01-02T03:04:05.000Z', node: '20.0.0', cpu: 'A Processor', cpus: 2 };
const counted = [8, 16].map(
  (ranks): ScaleRow => ({
    ...machine,
    ranks,
    transport: 'tcp',
    algorithm: 'ring',
    openSeconds: 1,
    memoryBytes: ranks * 2 ** 20,
    connections: 4,
    dataConnections: 2,
    messages: ranks * ranks,
    controlMessages: ranks / 8,
  }),
);
const sharing = counted.map(
  (row): ScaleRow => ({ ...row, transport: 'shared-memory', dataConnections: 0, messages: 0 }),
);

it('the ends of connections are read from the output of ss, with the segments that each has sent', () => {
  const text = [
    '0      0      127.0.0.1:41136 127.0.0.1:57507 users:(("node",pid=12487,fd=4))',
    '\t cubic wscale:10,10 bytes_sent:1000 segs_out:12 segs_in:11 data_segs_out:10 bbr:(bw:1bps)',
    '0      36     127.0.0.1:57507 127.0.0.1:41136 users:(("node",pid=12488,fd=5))',
    '\t cubic wscale:10,10 bytes_received:1000 segs_out:10 segs_in:12 data_segs_in:10',
    '0      0      10.0.0.1:22 10.0.0.2:40000',
    '\t cubic data_segs_out:7',
    '',
  ].join('\n');
  expect(endsIn(text)).toEqual([
    { pid: 12_487, local: '127.0.0.1:41136', peer: '127.0.0.1:57507', segments: 10 },
    { pid: 12_488, local: '127.0.0.1:57507', peer: '127.0.0.1:41136', segments: 0 },
  ]);
});

describe('the exponent of growth', () => {
  const points = (amountOf: (ranks: number) => number) =>
    [8, 16, 32, 64].map((ranks) => ({ ranks, value: amountOf(ranks) }));

  it('is that of a power', () => {
    expect(growthExponent(points((ranks) => 3 * ranks ** 1.5))).toBeCloseTo(1.5);
    expect(growthExponent(points(() => 7))).toBeCloseTo(0);
  });

  it('is unknown for zeros and for one point', () => {
    expect(growthExponent(points((ranks) => ranks - 8))).toBeUndefined();
    expect(growthExponent([{ ranks: 8, value: 1 }])).toBeUndefined();
  });
});

describe('the page of counts', () => {
  const section = scaleSection([...counted, ...sharing]);

  it('states the machine, the counts and their exponents', () => {
    expect(section).toContain('A Processor, 2 cores, Node 20.0.0, 2030-01-02.');
    expect(section).toContain('| ranks | ring, TCP | ring, shared memory |\n');
    expect(section).toContain('| 16 | 16 | 16 |\n| exponent | **1.00** | **1.00** |');
    expect(section).toContain('| 16 | 256 |\n| exponent | **2.00** |');
  });

  it('has the pictures that it shows', () => {
    const shown = [...section.matchAll(/figures\/(.+\.svg)\)/g)].map(([, file]) => file);
    expect(scaleCharts(counted).map(({ file }) => file)).toEqual(shown);
    for (const { svg } of scaleCharts(counted)) expect(svg).toMatch(/^<svg [\s\S]*ring, TCP[\s\S]*<\/svg>\n$/);
  });
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { Figures, PlaceFigures } from './measure.ts';
import { currentGuide, speedTables } from './table.ts';

const place: PlaceFigures = {
  name: 'A Browser 7',
  allReduce: [
    { bytes: 4, memory: 'ordinary', micros: 1.234 },
    { bytes: 1024 ** 2, memory: 'allocated', micros: 2345 },
  ],
  samplesPerSecond: [1000, 1850],
  stepMillis: 138.4,
  hasSameWeights: true,
  longestPauseMillis: 3.21,
  pausesOver50Millis: 0,
  longTasks: 2,
};
const { longTasks: _, ...silent } = place;
const figures: Figures = {
  ...{ date: '2030-01-02', machine: 'A Processor, 2 cores', foreignLoad: 0.0123 },
  places: [place, { ...silent, name: 'Another 8', hasSameWeights: false }],
  gzip: { enum: 950, wasm: 43_250, page: 118_440, replica: 123_000 },
};

it('tables have a column for each place, and a dash for what a browser does not report', () => {
  expect(speedTables(figures)).toBe(`|  | A Browser 7 | Another 8 |
| --- | ---: | ---: |
| all-reduce of 4 B | 1.23 µs | 1.23 µs |
| all-reduce of 1 MiB, from \`allocate\` | 2.35 ms | 2.35 ms |
| samples per second, 1 replica | 1,000 | 1,000 |
| samples per second, 2 replicas | 1,850 | 1,850 |
| 2 replicas, times as fast | 1.85 | 1.85 |
| a step of 2 replicas | 138 ms | 138 ms |
| same weights in all replicas of all columns | yes | no |
| longest pause of the thread of the page | 3.2 ms | 3.2 ms |
| pauses over 50 ms | 0 | 0 |
| long tasks that the browser reports | 2 | – |

A Processor, 2 cores, 2030-01-02. Other programs used 1.23 % of the machine.

| bundle of esbuild, minified | gzip |
| --- | ---: |
| a page that uses one enum | 0.9 kB |
| an all-reduce by \`wasm\`, in one thread | 43.3 kB |
| \`MirroredStrategy\` in a page, with all its engines | 118.4 kB |
| the module of the replicas | 123.0 kB |`);
});

it('docs/guides/pages.md shows the latest figures: npm run pages -- --docs', () => {
  expect(readFileSync(path.resolve(import.meta.dirname, '../../docs/guides/pages.md'), 'utf8')).toBe(currentGuide());
});

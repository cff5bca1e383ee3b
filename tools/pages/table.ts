import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { formatMicros, percent } from '../bench/src/report/cells.js';
import { formatBytes } from '../bench/src/sizes.js';
import { readRows, writeRows } from '../docs/src/json-lines.ts';
import { markdownTable } from '../docs/src/markdown-table.ts';
import { withParts } from '../docs/src/sections.ts';
import type { Figures, PlaceFigures } from './measure.ts';

const guide = path.resolve(import.meta.dirname, '../../docs/guides/pages.md');

const inWords: Readonly<Record<keyof Figures['gzip'], string>> = {
  enum: 'a page that uses one enum',
  wasm: 'an all-reduce by `wasm`, in one thread',
  page: '`MirroredStrategy` in a page, with all its engines',
  replica: 'the module of the replicas',
};

/** The tables of the guide. */
export function speedTables({ places, gzip, machine, date, foreignLoad }: Figures): string {
  const row = (title: string, cell: (figures: PlaceFigures) => string) => [title, ...places.map(cell)];
  const allReduces = (places[0]?.allReduce ?? []).map(({ bytes, memory }, index) =>
    row(`all-reduce of ${formatBytes(bytes)}${memory === 'allocated' ? ', from `allocate`' : ''}`, ({ allReduce }) =>
      formatMicros(allReduce[index]?.micros as number),
    ),
  );
  const whole = (value: number) => Math.round(value).toLocaleString('en');
  const speeds = [
    ...allReduces,
    row('samples per second, 1 replica', ({ samplesPerSecond: [one] }) => whole(one)),
    row('samples per second, 2 replicas', ({ samplesPerSecond: [, two] }) => whole(two)),
    row('2 replicas, times as fast', ({ samplesPerSecond: [one, two] }) => (two / one).toFixed(2)),
    row('a step of 2 replicas', ({ stepMillis }) => `${whole(stepMillis)} ms`),
    row('same weights in all replicas of all columns', ({ hasSameWeights }) => (hasSameWeights ? 'yes' : 'no')),
    row('longest pause of the thread of the page', ({ longestPauseMillis }) => `${longestPauseMillis.toFixed(1)} ms`),
    row('pauses over 50 ms', ({ pausesOver50Millis }) => String(pausesOver50Millis)),
    row('long tasks that the browser reports', ({ longTasks }) => (longTasks === undefined ? '–' : String(longTasks))),
  ];
  const sizes = Object.entries(gzip).map(([name, bytes]) => [
    inWords[name as keyof Figures['gzip']],
    `${(bytes / 1000).toFixed(1)} kB`,
  ]);
  const others = foreignLoad === undefined ? '' : ` Other programs used ${percent(foreignLoad)} of the machine.`;
  return [
    markdownTable(['', ...places.map(({ name }) => name)], speeds),
    `${machine}, ${date}.${others}`,
    markdownTable(['bundle of esbuild, minified', 'gzip'], sizes),
  ].join('\n\n');
}

/** Replaces the figures, and writes the guide. */
export function writeFigures(figures: Figures): void {
  writeRows('pages', [figures]);
  writeFileSync(guide, currentGuide());
}

/** The guide with the tables of the latest figures. */
export function currentGuide(): string {
  const [figures] = readRows<Figures>('pages');
  const part = figures ? speedTables(figures) : 'Nothing has been measured yet.';
  return withParts(readFileSync(guide, 'utf8'), new Map([['speed', part]]));
}

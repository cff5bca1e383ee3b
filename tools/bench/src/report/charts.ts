import { formatBytes } from '../sizes.js';
import { Figures, ratioOf, type Wanted } from './figures.js';
import { labels } from './labels.js';
import { drawLines, type Line } from './line-chart.js';
import type { FailedRow, Row } from './row.js';

const suite = 'in-process';
const input = 'fresh';

/** A picture of the docs. */
export interface Chart {
  readonly file: string;
  readonly svg: string;
}

/** The color of each subject, the same in every picture. */
export const colors: Readonly<Record<keyof typeof labels, string>> = {
  native: '#d1242f',
  wasm: '#bf8700',
  js: '#8250df',
  openmpi: '#0969da',
  'openmpi-tuned': '#54aeff',
  'openmpi-nonblocking': '#80ccff',
  mpich: '#1a7f37',
  'mpich-tuned': '#6fdd8b',
  'mpich-nonblocking': '#aceebb',
  gloo: '#6e7781',
  'openmpi-tcp': '#0550ae',
  'mpich-tcp': '#116329',
  mpi4py: '#bc4c00',
  torch: '#953800',
  bound: '#1f2328',
};

const kinds = [
  { name: 'time', title: 'microseconds per call', take: ({ medianMicros }: Row) => medianMicros },
  { name: 'bandwidth', title: 'bus bandwidth in GB/s', take: ({ busGBs }: Row) => busGBs },
] as const;

/** The pictures for that many ranks, in the order in which they are shown. */
export function chartNames(ranks: number): { readonly title: string; readonly file: string }[] {
  return [...kinds, { name: 'ratio', title: 'times faster than the fastest peer' }].map(({ name, title }) => ({
    title: `All-reduce between ${ranks} ranks: ${title}`,
    file: `${name}-${ranks}-ranks.svg`,
  }));
}

/** The pictures of one run. */
export function chartsOf(rows: readonly (Row | FailedRow)[]): Chart[] {
  const figures = new Figures(rows);
  return figures.ranksOf(suite).flatMap((ranks) => {
    const sizes = figures.sizesOf(suite, ranks);
    const wanted = sizes.map((bytes): Wanted => ({ suite, ranks, bytes, input }));
    const lines = [...kinds.map(({ take }) => linesOf(figures, wanted, take)), ratioLines(figures, wanted)];
    return chartNames(ranks).map(({ file, title }, index) => ({
      file,
      svg: drawLines(`${title}, fresh inputs`, sizes.map(formatBytes), lines[index] as Line[]),
    }));
  });
}

function linesOf(figures: Figures, wanted: readonly Wanted[], take: (row: Row) => number): Line[] {
  const line = (name: keyof typeof labels, find: (at: Wanted) => Row | undefined): Line => ({
    name: labels[name],
    color: colors[name],
    values: wanted.map((at) => {
      const row = find(at);
      return row && take(row);
    }),
  });
  return [
    ...figures.engines(suite).map((name) => line(name, (at) => figures.ours(at, name))),
    ...figures.peers(suite).map((name) => line(name, (at) => figures.peer(at, name))),
    { ...line('bound', (at) => figures.bound(at)), isDashed: true },
  ];
}

function ratioLines(figures: Figures, wanted: readonly Wanted[]): Line[] {
  const ours = figures.engines(suite).map((name) => ({
    name: labels[name],
    color: colors[name],
    values: wanted.map((at) => ratioOf(figures.ours(at, name), figures.fastest(at))),
  }));
  return [...ours, { name: 'the fastest peer', color: colors.openmpi, values: wanted.map(() => 1), isDashed: true }];
}

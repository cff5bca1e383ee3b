import { LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { formatBytes } from '../sizes.js';
import { Figures, ratioOf, type Wanted } from './figures.js';
import { labels } from './labels.js';
import { threeDigits } from './numbers.js';
import type { FailedRow, Row } from './row.js';

use([LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const suite = 'in-process';
const input = 'fresh';

/** A picture of the docs. */
export interface Chart {
  readonly file: string;
  readonly svg: string;
}

interface Line {
  readonly name: string;
  readonly color: string;
  readonly values: readonly (number | undefined)[];
  readonly isDashed?: boolean;
}

const colors: Readonly<Record<keyof typeof labels, string>> = {
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
      svg: draw(`${title}, fresh inputs`, sizes, lines[index] as Line[]),
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

/** A line chart over sizes, with a logarithmic axis. */
function draw(title: string, sizes: readonly number[], lines: readonly Line[]): string {
  const shown = lines.filter(({ values }) => values.some((value) => value !== undefined));
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 900, height: 480 });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: { text: title, left: 16, top: 10, textStyle: { fontSize: 15, fontWeight: 600 } },
    legend: { right: 16, top: 'middle', orient: 'vertical', data: shown.map(({ name }) => name) },
    grid: { left: 64, right: 180, top: 52, bottom: 40 },
    xAxis: { type: 'category', data: sizes.map(formatBytes), boundaryGap: false },
    yAxis: {
      type: 'log',
      axisLabel: { formatter: plain },
      minorSplitLine: { show: true, lineStyle: { color: '#eef0f2' } },
    },
    series: shown.map(({ name, color, values, isDashed = false }) => ({
      type: 'line',
      name,
      data: values.map((value) => value ?? '-'),
      symbolSize: isDashed ? 0 : 5,
      color,
      lineStyle: { type: isDashed ? 'dashed' : 'solid', width: 2 },
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${withoutHovering(svg)}\n`;
}

// Styles for the mouse are named by a count of all pictures that a process has drawn; the same figures shall give the same file.
function withoutHovering(svg: string): string {
  return svg
    .replace(/<style >[\s\S]*?<\/style>\n?/g, '')
    .replace(/ class="zr\d+-cls-\d+"/g, '')
    .replace(/ ecmeta_\w+="\w*"/g, '')
    .replace(/\bzr\d+-/g, 'zr-');
}

function plain(value: number): string {
  return value >= 1 ? String(value) : threeDigits(value).replace(/0+$/, '');
}

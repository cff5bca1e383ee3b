import { busGBs } from '../bandwidth.js';
import { formatBytes } from '../sizes.js';
import { type Figures, ratioOf, type Wanted } from './figures.js';
import { libraries, type SubjectName, subjects } from './labels.js';
import { drawLines, type Line } from './line-chart.js';
import type { ShownRow } from './results.js';

/** A picture of the docs. */
export interface Chart {
  readonly file: string;
  readonly svg: string;
}

const kinds = [
  { name: 'time', title: 'microseconds per call', figureOf: ({ medianMicros }: ShownRow) => medianMicros },
  {
    name: 'bandwidth',
    title: 'bus bandwidth in GB/s',
    figureOf: ({ ranks, bytes, medianMicros }: ShownRow) => busGBs('all-reduce', ranks, bytes, medianMicros),
  },
] as const;

/** The pictures for a number of ranks, in the order of the page. */
export function chartNames(ranks: number): { readonly title: string; readonly file: string }[] {
  return [...kinds, { name: 'ratio', title: 'times faster than the fastest peer' }].map(({ name, title }) => ({
    title: `All-reduce between ${ranks} ranks: ${title}`,
    file: `${name}-${ranks}-ranks.svg`,
  }));
}

/** The pictures of all-reduces of one buffer. */
export function chartsOf(figures: Figures): Chart[] {
  const suite = 'in-process';
  return figures.ranksOf(suite).flatMap((ranks) => {
    const sizes = figures.sizesOf(suite, ranks);
    const wanted = sizes.map((bytes): Wanted => ({ suite, ranks, bytes, input: 'fresh' }));
    const lines = [...kinds.map(({ figureOf }) => linesOf(figures, wanted, figureOf)), ratioLines(figures, wanted)];
    return chartNames(ranks).map(({ file, title }, index) => ({
      file,
      svg: drawLines(`${title}, fresh inputs`, sizes.map(formatBytes), lines[index] as Line[]),
    }));
  });
}

function linesOf(figures: Figures, wanted: readonly Wanted[], figureOf: (row: ShownRow) => number): Line[] {
  const line = (name: SubjectName, rowOf: (at: Wanted) => ShownRow | undefined): Line => ({
    name: subjects[name].label,
    color: subjects[name].color,
    values: wanted.map((at) => {
      const row = rowOf(at);
      return row && figureOf(row);
    }),
  });
  return [
    ...figures.engines('in-process').map((engine) => line(engine, (at) => figures.ours({ ...at, engine }))),
    ...figures.peers('in-process').map((peer) => line(peer, (at) => figures.peer(at, peer))),
    { ...line('bound', (at) => figures.find({ ...at, engine: 'bound' })), isDashed: true },
  ];
}

function ratioLines(figures: Figures, wanted: readonly Wanted[]): Line[] {
  const ours = figures.engines('in-process').map((engine) => ({
    name: subjects[engine].label,
    color: subjects[engine].color,
    values: wanted.map((at) => ratioOf(figures.ours({ ...at, engine }), figures.fastest(at))),
  }));
  const peer = { name: 'the fastest peer', color: subjects.openmpi.color, values: wanted.map(() => 1), isDashed: true };
  return [...ours, peer];
}

/** The time of one size by the number of ranks on one machine; undefined if fewer than two numbers of ranks were measured. */
export function scalingChart(figures: Figures): (Chart & { readonly caption: string }) | undefined {
  const suite = 'processes';
  const bytes = 16 * 2 ** 20;
  const first = figures.find({ suite });
  const wanted = figures.ranksOf(suite).map((ranks): Wanted => ({ suite, ranks, bytes, input: 'fresh' }));
  const line = (name: string, color: string, rowOf: (at: Wanted) => ShownRow | undefined): Line => ({
    name,
    color,
    values: wanted.map((at) => {
      const micros = rowOf(at)?.medianMicros;
      return micros === undefined ? undefined : micros / 1000;
    }),
  });
  const engine = 'native';
  const over = { engine, transport: 'shared-memory', memory: 'ordinary' } as const;
  const lines = [
    line('coll, threads', subjects.native.color, (at) => figures.ours({ ...at, engine })),
    line('coll, processes', subjects.wasm.color, (at) => figures.ours({ ...at, ...over })),
    ...libraries.map(([name, settings]) =>
      line(subjects[name].label, subjects[name].color, (at) => figures.fastest(at, settings)),
    ),
  ];
  const isMeasured = lines.some(({ values }) => values.some((value) => value !== undefined));
  if (!first || wanted.length < 2 || !isMeasured) return undefined;
  const title = `All-reduce of ${formatBytes(bytes)} on ${first.cpus} cores: milliseconds per call`;
  const ranks = wanted.map((at) => `${at.ranks} ranks`);
  return { file: 'scaling.svg', svg: drawLines(title, ranks, lines), caption: captionOf(first) };
}

function captionOf({ cpu, cpus, date }: ShownRow): string {
  return [
    'The chart shows the median time per call by the number of ranks. The sums of float32 are in place, and inputs are rewritten before every call. The processes of coll reduce',
    `ordinary arrays over shared memory. The machine has ${cpus} cores, so more than ${cpus} ranks share cores. ${cpu}, ${date.slice(0, 10)}.`,
  ].join('\n');
}

import type { PeerName } from '../peers/peers.js';
import { formatBytes } from '../sizes.js';
import { type Chart, colors } from './charts.js';
import { Figures, type Wanted } from './figures.js';
import { labels } from './labels.js';
import { drawLines } from './line-chart.js';
import type { FailedRow, Row } from './row.js';

const suite = 'processes';
const bytes = 16 * 2 ** 20;

/** Libraries, and the settings of them that are measured: the faster one counts. */
const libraries: readonly (readonly [name: PeerName, settings: readonly PeerName[]])[] = [
  ['openmpi', ['openmpi', 'openmpi-tuned']],
  ['mpich', ['mpich', 'mpich-tuned']],
  ['gloo', ['gloo']],
];

/** The time of one size over the number of ranks on one machine; undefined if the rows have fewer than two numbers of ranks. */
export function scalingChart(rows: readonly (Row | FailedRow)[]): (Chart & { readonly caption: string }) | undefined {
  const figures = new Figures(rows);
  const first = figures.rows.find((row) => row.suite === suite);
  const wanted = figures.ranksOf(suite).map((ranks): Wanted => ({ suite, ranks, bytes, input: 'fresh' }));
  const lineOf = (name: string, color: string, find: (at: Wanted) => Row | undefined) => ({
    name,
    color,
    values: wanted.map((at) => {
      const micros = find(at)?.medianMicros;
      return micros === undefined ? undefined : micros / 1000;
    }),
  });
  const over = { transport: 'shared-memory', memory: 'ordinary' } as const;
  const lines = [
    lineOf('coll, threads', colors.native, (at) => figures.ours(at, 'native')),
    lineOf('coll, processes', colors.wasm, (at) => figures.ours({ ...at, ...over }, 'native')),
    ...libraries.map(([name, settings]) => lineOf(labels[name], colors[name], (at) => figures.fastest(at, settings))),
  ];
  if (!first || wanted.length < 2 || !lines.some(({ values }) => values.some((value) => value !== undefined)))
    return undefined;
  const title = `All-reduce of ${formatBytes(bytes)} on ${first.cpus} cores: milliseconds per call`;
  const ranks = wanted.map((at) => `${at.ranks} ranks`);
  return { file: 'scaling.svg', svg: drawLines(title, ranks, lines), caption: captionOf(first) };
}

function captionOf({ cpu, cpus, date }: Row): string {
  return [
    'The chart shows the median time per call by the number of ranks. The sums of float32 are in place, and inputs are rewritten before every call. The processes of coll reduce',
    `ordinary arrays over shared memory. The machine has ${cpus} cores, so more than ${cpus} ranks share cores. ${cpu}, ${date.slice(0, 10)}.`,
  ].join('\n');
}

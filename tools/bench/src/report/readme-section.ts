import type { PeerName } from '../peers/peers.js';
import { formatBytes } from '../sizes.js';
import { calledLines, calledSizes, calledSuites } from './called-section.js';
import { timeOf } from './cells.js';
import { mainRows } from './docs-section.js';
import { daysOf, familiesOf, familyFigures } from './families.js';
import { disturbedAmong, Figures, ratioOf, type Wanted } from './figures.js';
import { networks } from './labels.js';
import { markdownTable } from './markdown-table.js';
import { formatMicros, threeDigits } from './numbers.js';
import type { FailedRow, Row } from './row.js';
import { scalingChart } from './scaling-chart.js';

const ranks = 2;
const sizes = [4, 4096, 65_536, 2 ** 20, 16 * 2 ** 20, 64 * 2 ** 20, 256 * 2 ** 20];

/** Libraries, and the settings of them that are measured: the faster one counts. */
const libraries: readonly (readonly [name: string, settings: readonly PeerName[]])[] = [
  ['Open MPI', ['openmpi', 'openmpi-tuned']],
  ['MPICH', ['mpich', 'mpich-tuned']],
  ['Gloo', ['gloo']],
];

/** The part of README.md that is made from figures: how many times faster we are. */
export function readmeSection(rows: readonly (Row | FailedRow)[]): string {
  const called = familiesOf(rows.filter(({ suite }) => calledSuites.includes(suite)))[0]?.rows ?? [];
  const sections = [...calledTable(new Figures(called)), ...scalingPlot(mainRows(rows)), ...communicatorTable(rows)];
  return sections.length === 0 ? 'None have been taken yet.' : sections.join('\n\n');
}

const calledTitles = [
  'worker threads, `allReduceSync`: the same array again, `into` itself',
  'worker threads, `allReduceSync`: a new array in each call, `into` itself',
  'worker threads, `allReduceSync`: the same array again, no `into`',
  'one thread, `allReduce`: the same array again, `into` itself',
  'processes, `allReduceSync`: the same array again, `into` itself',
  '`reduce`: the same array again, `into` itself',
  'processes, `Allreduce`: the same array again, in place',
  'processes, `Allreduce`: the same array again, into another array',
  'processes, `all_reduce`: the same array again, in place',
  'worker threads, `runSync`: the same array again, in place',
];

/** Application-level calls at a glance. */
function calledTable(figures: Figures): string[] {
  const calledRows = figures.rows.filter(({ suite }) => calledSuites.includes(suite));
  const [first] = calledRows;
  const shown = calledSizes(figures);
  const lines = calledLines(figures)
    .filter(({ title }) => calledTitles.includes(title))
    .map(({ level, title, rowOf }) => [title, level, ...shown.map((bytes) => timeOf(rowOf(bytes)))])
    .filter(([, , ...cells]) => cells.some((cell) => cell !== ''));
  if (!first || lines.length === 0) return [];
  return [
    markdownTable([`sum of float32, ${ranks} replicas`, 'level', ...shown.map(formatBytes)], lines),
    [
      'The table shows the median time per call. Each row measures one level of the library: `context` is the object that a replica calls, `ops` are cross-device ops, and `communicator` is the layer below both.',
      `mpi4py calls Open MPI from Python, and torch is PyTorch with Gloo. ${first.cpu}, ${first.cpus} cores, ${first.date.slice(0, 10)}.${warningOf(calledRows)}`,
    ].join('\n'),
  ];
}

function scalingPlot(rows: readonly (Row | FailedRow)[]): string[] {
  const chart = scalingChart(rows);
  return chart ? [`![Time of an all-reduce over the number of ranks](docs/figures/${chart.file})`, chart.caption] : [];
}

function warningOf(rows: readonly Row[]): string {
  const disturbed = disturbedAmong(rows);
  return disturbed === 0 ? '' : ` Other programs were busy during ${disturbed} of ${rows.length} measurements.`;
}

/** All-reduces of communicators: of each row the worse figures, if several CPUs have it. */
function communicatorTable(rows: readonly (Row | FailedRow)[]): string[] {
  const families = familyFigures(rows, 'in-process');
  const known = libraries.filter(([, settings]) =>
    families.some(({ figures }) => settings.some((peer) => figures.peers('in-process').includes(peer))),
  );
  const [main] = families;
  if (!main) return [];
  const lines = wantedLines(main.figures).flatMap(([label, wanted]) => {
    const found = families.flatMap(({ figures }) => {
      const [engine] = figures.engines('in-process');
      const ours = engine && figures.ours(wanted, engine);
      if (!ours) return [];
      return [{ ours, ratios: known.map(([, settings]) => ratioOf(ours, figures.fastest(wanted, settings))) }];
    });
    if (found.length === 0) return [];
    const slowest = Math.max(...found.map(({ ours }) => ours.medianMicros));
    const ratios = known.map((_, library) => least(found.map((each) => each.ratios[library])));
    return [[label, formatMicros(slowest), ...ratios.map(times), ...(families.length > 1 ? [`${found.length}`] : [])]];
  });
  const head = [`all-reduce, ${ranks} ranks`, 'coll', ...known.map(([name]) => `times ${name}`)];
  return [
    markdownTable([...head, ...(families.length > 1 ? ['CPUs'] : [])], lines),
    communicatorWords(
      main.figures.engines('in-process')[0] ?? '',
      families.map(({ name, figures }) => ({ name, days: daysOf(measuredIn(figures)) })),
    ),
  ];
}

const measuredIn = (figures: Figures) =>
  figures.rows.filter(({ suite }) => suite === 'in-process' || suite === 'gradients');

function least(ratios: readonly (number | undefined)[]): number | undefined {
  const known = ratios.filter((ratio) => ratio !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function communicatorWords(
  engine: string,
  families: readonly { readonly name: string; readonly days: string }[],
): string {
  const isOne = families.length === 1;
  const origins = families.map(({ name, days }) => `${name}, ${days}`);
  return [
    `The table shows how many times faster coll is than the other libraries, for sums of float32 in place. Inputs are rewritten before every call. For coll, two worker threads`,
    `call \`runSync\` of a communicator of the ${engine} engine. The other libraries use two processes, with the faster of their default and malloc-tuned settings. coll reduces all`,
    `gradients of a network in one call; the other libraries need one call per tensor. ${isOne ? '' : 'If several CPUs were measured, each column shows the worst of them, and the last column shows how many were measured. '}${origins.join('; ')}.`,
    `[Benchmarks](docs/internals/benchmarks.md) has all figures, and describes how they are measured.`,
  ].join('\n');
}

function wantedLines(figures: Figures): (readonly [label: string, wanted: Wanted])[] {
  const buffers = sizes.map(
    (bytes) => [formatBytes(bytes), { suite: 'in-process', ranks, bytes, input: 'fresh' }] as const,
  );
  const gradients = Object.entries(networks).flatMap(([set, name]) => {
    const bytes = figures.rows.find((row) => row.gradients === set)?.bytes;
    if (bytes === undefined) return [];
    const wanted: Wanted = { suite: 'gradients', ranks, bytes, case: `${set} per tensor` };
    return [[`gradients of ${name}, ${formatBytes(bytes)}`, wanted] as const];
  });
  return [...buffers, ...gradients];
}

function times(ratio: number | undefined): string {
  return ratio === undefined ? '' : threeDigits(ratio);
}

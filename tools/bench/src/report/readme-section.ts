import type { PeerName } from '../peers/peers.js';
import { formatBytes } from '../sizes.js';
import { calledLines, calledTable } from './called-section.js';
import { formatMicros, plain, timeOf } from './cells.js';
import { scalingChart } from './charts.js';
import { type Family, type Figures, ratioOf, reportOf, type Wanted } from './figures.js';
import { libraries, networks, subjects } from './labels.js';
import type { ShownRow } from './results.js';
import type { FailedRow } from './row.js';
import { type Column, tableOf } from './table.js';

const ranks = 2;
const sizes = [4, 4096, 65_536, 2 ** 20, 16 * 2 ** 20, 64 * 2 ** 20, 256 * 2 ** 20];

/** The generated part of README.md: how many times faster coll is. */
export function readmeSection(rows: readonly (ShownRow | FailedRow)[]): string {
  const { called, main, families } = reportOf(rows);
  const sections = [...calledPart(called), ...scalingPart(main), ...communicatorPart(families)];
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
function calledPart(figures: Figures): string[] {
  const [first] = figures.rows;
  const lines = calledLines.filter(({ title }) => calledTitles.includes(title));
  const table = calledTable(figures, lines, `sum of float32, ${ranks} replicas`, timeOf);
  if (!first || table === undefined) return [];
  const { disturbed, rows } = figures;
  const warning =
    disturbed === 0 ? '' : ` Other programs were busy during ${disturbed} of ${rows.length} measurements.`;
  return [
    table,
    [
      'The table shows the median time per call. Each row measures one level of the library: `context` is the object that a replica calls, `ops` are cross-device ops, and `communicator` is the layer below both.',
      `mpi4py calls Open MPI from Python, and torch is PyTorch with Gloo. ${first.cpu}, ${first.cpus} cores, ${first.date.slice(0, 10)}.${warning}`,
    ].join('\n'),
  ];
}

function scalingPart(figures: Figures): string[] {
  const chart = scalingChart(figures);
  return chart ? [`![Time of an all-reduce over the number of ranks](docs/figures/${chart.file})`, chart.caption] : [];
}

/** All-reduces of communicators. If several CPUs have a row, each cell shows the worst of them. */
function communicatorPart(all: readonly Family[]): string[] {
  const families = all.filter(({ figures }) => figures.ranksOf('in-process').length > 0);
  const [main] = families;
  if (!main) return [];
  const ours = ({ figures }: Family, wanted: Wanted) =>
    figures.ours({ ...wanted, engine: figures.engines('in-process')[0] });
  const times = (wanted: Wanted) => families.flatMap((family) => ours(family, wanted)?.medianMicros ?? []);
  const ratios = (wanted: Wanted, settings: readonly PeerName[]) =>
    families.flatMap((family) => ratioOf(ours(family, wanted), family.figures.fastest(wanted, settings)) ?? []);
  const columns: Column<Wanted>[] = [
    { title: `all-reduce, ${ranks} ranks`, cellOf: nameOf, isLeft: true },
    { title: 'coll', cellOf: (wanted) => formatMicros(Math.max(...times(wanted))) },
    ...libraries.map(([name, settings]) => ({
      title: `times ${subjects[name].label}`,
      cellOf: (wanted: Wanted) => {
        const found = ratios(wanted, settings);
        return found.length === 0 ? '' : plain(Math.min(...found));
      },
    })),
    { title: 'CPUs', cellOf: (wanted) => (families.length > 1 ? String(times(wanted).length) : '') },
  ];
  const lines = wantedIn(main.figures).filter((wanted) => times(wanted).length > 0);
  return [tableOf(columns, lines), communicatorWords(main.figures.engines('in-process')[0] ?? '', families)];
}

function communicatorWords(engine: string, families: readonly Family[]): string {
  const origins = families.map(({ name, figures }) => `${name}, ${figures.daysOf('in-process', 'gradients')}`);
  const worst =
    'If several CPUs were measured, each column shows the worst of them, and the last column shows how many were measured. ';
  return [
    `The table shows how many times faster coll is than the other libraries, for sums of float32 in place. Inputs are rewritten before every call. For coll, two worker threads`,
    `call \`runSync\` of a communicator of the ${engine} engine. The other libraries use two processes, with the faster of their default and malloc-tuned settings. coll reduces all`,
    `gradients of a network in one call; the other libraries need one call per tensor. ${families.length === 1 ? '' : worst}${origins.join('; ')}.`,
    `[Benchmarks](docs/internals/benchmarks.md) has all figures, and describes how they are measured.`,
  ].join('\n');
}

/** Buffers of one size, then the gradients of networks. */
function wantedIn(figures: Figures): Wanted[] {
  const buffers = sizes.map((bytes): Wanted => ({ suite: 'in-process', ranks, bytes, input: 'fresh' }));
  const gradients = Object.keys(networks).flatMap((set): Wanted[] => {
    const bytes = figures.find({ gradients: set })?.bytes;
    return bytes === undefined ? [] : [{ suite: 'gradients', ranks, bytes, gradients: set, case: `${set} per tensor` }];
  });
  return [...buffers, ...gradients];
}

function nameOf({ gradients, bytes = 0 }: Wanted): string {
  return `${gradients === undefined ? '' : `gradients of ${networks[gradients]}, `}${formatBytes(bytes)}`;
}

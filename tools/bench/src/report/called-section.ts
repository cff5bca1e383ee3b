import { pythonPeers } from '../peers/peers.js';
import { formatBytes } from '../sizes.js';
import { coldName, firstCalls } from '../suites/cold.js';
import { wordsFor } from '../suites/ways-to-call.js';
import type { CallMemory, Form, Place } from '../trial.js';
import { bold, formatMicros, timeOf } from './cells.js';
import { type Figures, ratioOf, type Wanted } from './figures.js';
import { networks, subjects } from './labels.js';
import type { ShownRow } from './results.js';
import { type Column, tableOf } from './table.js';

const ranks = 2;
const engine = 'native';
const pairs = 100;

/** A line of a table: what is called, at which level of the API, and the fields of its rows except the size. */
export interface CalledLine {
  readonly title: string;
  readonly level: string;
  readonly wanted: Wanted;
  /** Tensors of a size in each call. Default: 1. */
  readonly tensors?: number;
}

/** The arrays of a call. */
type Way = readonly [memory: CallMemory, place: Place];

const inPlace = ['known', 'in'] as const;
const elsewhere = ['known', 'out'] as const;
const ofNew = ['new', 'in'] as const;
const noInto = ['result', 'in'] as const;
const noIntoOfNew = ['both', 'in'] as const;
const alone = ['alone', 'in'] as const;

const arrays: Readonly<Record<CallMemory, string>> = {
  known: 'the same array again, `into` itself',
  new: 'a new array in each call, `into` itself',
  result: 'the same array again, no `into`',
  both: 'a new array in each call, no `into`',
  alone: 'a new array in each call, not reduced',
  'both-alone': 'two new arrays in each call, not reduced',
};

/** A line for each way to make a call. */
function linesOf(title: string, level: 'context' | 'ops', call: string, form: Form, ways: readonly Way[], tensors = 1) {
  const suite = level === 'ops' ? 'ops' : 'strategy';
  return ways.map(([memory, place]): CalledLine => {
    const words = place === 'out' ? 'the same array again, `into` another one' : arrays[memory];
    const name = `${call}${wordsFor(memory, place)}`;
    return { title: `${title}: ${words}`, level, wanted: { suite, case: name, form, engine, place }, tensors };
  });
}

/** An empty run of a strategy. */
function runLine(call: string, title: string): CalledLine {
  const words = `\`run\` of an empty ${title}: one batch of this size per replica`;
  return { title: words, level: 'strategy', wanted: { suite: 'runs', case: call } };
}

function peerLine(peer: (typeof pythonPeers)[number], call: string, place: Place, words: string): CalledLine {
  const title = `processes, \`${call}\`: the same array again, ${words}`;
  return { title, level: peer, wanted: { suite: 'strategy', peer, gradients: undefined, place } };
}

function communicatorLine(title: string, name: string, form: Form): CalledLine {
  const wanted: Wanted = { suite: 'strategy', case: `communicator ${name}`, form, engine };
  return { title: `${title}: the same array again, in place`, level: 'communicator', wanted };
}

/** Application-level calls, peers at the same level, and the communicators below. */
export const calledLines: readonly CalledLine[] = [
  ...linesOf('worker threads, `allReduceSync`', 'context', 'allReduceSync direct', 'sync', [
    ...[inPlace, elsewhere, ofNew],
    ...[noInto, noIntoOfNew, alone],
  ]),
  ...linesOf('worker threads, `allReduce`', 'context', 'allReduce direct', 'async', [inPlace, ofNew, noInto]),
  ...linesOf('one thread, `allReduce`', 'context', 'allReduce direct', 'controller', [inPlace, ofNew, noInto, alone]),
  ...linesOf('processes, `allReduceSync`', 'context', 'allReduceSync over shared-memory', 'sync', [
    ...[inPlace, elsewhere, ofNew, noInto],
  ]),
  ...linesOf('processes, `allReduce`', 'context', 'allReduce over shared-memory', 'async', [inPlace, noInto]),
  ...linesOf('`reduce`', 'ops', 'reduce direct', 'controller', [inPlace, ofNew, noInto]),
  ...linesOf(
    `\`batchReduce\` of ${pairs} pairs`,
    'ops',
    `batchReduce of ${pairs} direct`,
    'controller',
    [inPlace, noInto],
    pairs,
  ),
  runLine('run of a module', 'module in worker threads'),
  runLine('run of a function', 'function in one thread'),
  peerLine('mpi4py', 'Allreduce', 'in', 'in place'),
  peerLine('mpi4py', 'Allreduce', 'out', 'into another array'),
  peerLine('torch', 'all_reduce', 'in', 'in place'),
  peerLine('torch', 'all_reduce', 'out', 'into another array'),
  communicatorLine('worker threads, `runSync`', 'direct', 'sync'),
  communicatorLine('worker threads, `run`', 'direct', 'async'),
  communicatorLine('one thread, `run`', 'direct', 'controller'),
  communicatorLine('processes, `runSync`', 'over shared-memory', 'sync'),
  communicatorLine('processes, `run`', 'over shared-memory', 'async'),
];

/** A table of these lines, with a column per size; undefined if nothing of them was measured. */
export function calledTable(
  figures: Figures,
  lines: readonly CalledLine[],
  head: string,
  cellOf: (row: ShownRow | undefined) => string,
): string | undefined {
  const rowOf = ({ wanted, tensors = 1 }: CalledLine, bytes: number) =>
    figures.find({ ...wanted, ranks, bytes: tensors * bytes });
  const sizes = sizesOf(figures);
  const measured = lines.filter((line) => sizes.some((bytes) => rowOf(line, bytes)));
  const columns: Column<CalledLine>[] = [
    { title: head, cellOf: ({ title }) => title, isLeft: true },
    { title: 'level', cellOf: ({ level }) => level },
    ...sizes.map((bytes) => ({
      title: formatBytes(bytes),
      cellOf: (line: CalledLine) => cellOf(rowOf(line, bytes)),
    })),
  ];
  return measured.length === 0 ? undefined : tableOf(columns, measured);
}

/** The sizes of one array, ascending. */
function sizesOf({ rows }: Figures): number[] {
  // The memory bound of a network has no level, and the size of all its gradients.
  const isSize = (row: ShownRow) => row.suite === 'strategy' && row.level !== undefined && row.gradients === undefined;
  const sizes = rows.filter((row) => row.ranks === ranks && isSize(row)).map(({ bytes }) => bytes);
  return [...new Set(sizes)].sort((a, b) => a - b);
}

const explanation = [
  'Each cell shows the median time per call and, in brackets, the mean over the whole loop, including garbage collection. The level is the object whose',
  'method is called: the `context` of a replica, cross-device `ops`, the `strategy`, or the `communicator` that these use. The peers',
  'are `mpi4py`, which calls Open MPI, and `torch`, which is `torch.distributed` with Gloo over TCP. PyTorch reduces only in place, so `torch` first copies the input if the result is another array.',
].join('\n');

/** The first tables of docs/internals/benchmarks.md; none if no application-level calls were measured. */
export function calledSections(figures: Figures): string[] {
  const table = calledTable(figures, calledLines, '', medianAndMean);
  if (table === undefined) return [];
  return [
    `### Application-level calls, ${ranks} replicas`,
    explanation,
    table,
    ...gradientsTable(figures),
    ...coldTable(figures),
  ];
}

const coldTitles: Readonly<Record<string, string>> = {
  threads: 'worker threads, `allReduceSync`',
  processes: 'processes, `allReduceSync`',
  'one thread': 'one thread, `allReduce`',
  reduce: '`ops.reduce`',
};

/** The first calls of a process; none if they were not measured. */
function coldTable(figures: Figures): string[] {
  const lines = [
    ...Object.entries(coldTitles).flatMap(([call, title]) =>
      (['known', 'new'] as const).map(
        (memory) => [`${call}${wordsFor(memory, 'in')}`, `${title}: ${arrays[memory]}`] as const,
      ),
    ),
    ['run of a module', '`run` of an empty module in worker threads'] as const,
    ['run of a function', '`run` of an empty function in one thread'] as const,
    ['mpi4py still', 'mpi4py, processes, `Allreduce`: the same array again, in place'] as const,
  ];
  const rowOf = (call: string, bytes: number, first: number) =>
    figures.find({ suite: 'cold', case: coldName(call, first), ranks, bytes });
  const sizes = figures.sizesOf('cold', ranks);
  const measured = lines.filter(([call]) => sizes.some((bytes) => rowOf(call, bytes, firstCalls[0])));
  if (measured.length === 0) return [];
  const columns = sizes.flatMap((bytes) =>
    firstCalls.map((first) => ({
      title: `${formatBytes(bytes)}, first ${first.toLocaleString('en')}`,
      cellOf: ([call]: readonly [string, string]) => timeOf(rowOf(call, bytes, first)),
    })),
  );
  const about =
    'Mean time per call of the first calls in a process that has just been started, before and while V8 compiles the code. Each cell is the median of several processes.';
  const table = tableOf([{ title: '', cellOf: ([, title]) => title, isLeft: true }, ...columns], measured);
  return ['### The first calls of a process', about, table];
}

/** coll reduces a list of all gradients in each call, and the other libraries one gradient in each call. */
function gradientsTable(figures: Figures): string[] {
  const ours = (set: string, memory: CallMemory) =>
    figures.find({ gradients: set, ranks, case: `${set} allReduceSync direct${wordsFor(memory, 'in')}`, engine });
  const theirs = (set: string, peer: (typeof pythonPeers)[number]) => figures.find({ gradients: set, ranks, peer });
  const time = (title: string, rowOf: (set: string) => ShownRow | undefined): Column<string> => ({
    title,
    cellOf: (set) => medianAndMean(rowOf(set)),
  });
  const columns: Column<string>[] = [
    { title: '', cellOf: (set) => networks[set] ?? set, isLeft: true },
    time('the same arrays again', (set) => ours(set, 'known')),
    time('new arrays', (set) => ours(set, 'new')),
    time('no `into`', (set) => ours(set, 'result')),
    time('new arrays, not reduced', (set) => ours(set, 'alone')),
    ...pythonPeers.map((peer) => time(subjects[peer].label, (set) => theirs(set, peer))),
    {
      title: 'times faster than mpi4py',
      cellOf: (set) => bold(ratioOf(ours(set, 'known'), theirs(set, 'mpi4py'))),
    },
  ];
  const sets = Object.keys(networks).filter((gradients) => figures.find({ gradients, ranks }));
  if (sets.length === 0) return [];
  return [
    `### Gradients of networks through a context, ${ranks} worker threads, \`allReduceSync\``,
    tableOf(columns, sets),
  ];
}

function medianAndMean(row: ShownRow | undefined): string {
  return row ? `${formatMicros(row.medianMicros)} (${formatMicros(row.meanMicros)})` : '';
}

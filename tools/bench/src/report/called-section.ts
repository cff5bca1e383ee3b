import { pythonPeers } from '../peers/peers.js';
import { formatBytes } from '../sizes.js';
import { wordsFor } from '../suites/ways-to-call.js';
import type { CallMemory, Form, Level, Place, SuiteName } from '../trial.js';
import { type Figures, ratioOf } from './figures.js';
import { labels, networks } from './labels.js';
import { markdownTable } from './markdown-table.js';
import { formatMicros, threeDigits } from './numbers.js';
import type { Row } from './row.js';

/** The suites of application-level calls. */
export const calledSuites: readonly SuiteName[] = ['strategy', 'ops', 'runs'];

const ranks = 2;
const engine = 'native';
const algorithm = 'direct';
const pairs = 100;

/** A line of a table: what is called, at which level of the API, and the row of each size. */
export interface CalledLine {
  readonly level: Level | (typeof pythonPeers)[number];
  readonly title: string;
  readonly rowOf: (bytes: number) => Row | undefined;
}

/** What is called how, and the arrays that it is called with. */
interface Called {
  readonly suite: SuiteName;
  readonly level: Level;
  readonly title: string;
  readonly case: string;
  readonly form: Form;
  readonly ways: readonly (readonly [memory: CallMemory, place: Place])[];
  /** Tensors of that size in one call. */
  readonly tensors?: number;
}

const inPlace = ['known', 'in'] as const;
const elsewhere = ['known', 'out'] as const;
const ofNew = ['new', 'in'] as const;
const noInto = ['result', 'in'] as const;
const noIntoOfNew = ['both', 'in'] as const;
const alone = ['alone', 'in'] as const;

const replica = { suite: 'strategy', level: 'context' } as const;
const crossDevice = { suite: 'ops', level: 'ops', form: 'controller' } as const;

const called: readonly Called[] = [
  {
    ...replica,
    title: 'worker threads, `allReduceSync`',
    case: `allReduceSync ${algorithm}`,
    form: 'sync',
    ways: [inPlace, elsewhere, ofNew, noInto, noIntoOfNew, alone],
  },
  {
    ...replica,
    title: 'worker threads, `allReduce`',
    case: `allReduce ${algorithm}`,
    form: 'async',
    ways: [inPlace, ofNew, noInto],
  },
  {
    ...replica,
    title: 'one thread, `allReduce`',
    case: `allReduce ${algorithm}`,
    form: 'controller',
    ways: [inPlace, ofNew, noInto, alone],
  },
  {
    ...replica,
    title: 'processes, `allReduceSync`',
    case: 'allReduceSync over shared-memory',
    form: 'sync',
    ways: [inPlace, elsewhere, ofNew, noInto],
  },
  {
    ...replica,
    title: 'processes, `allReduce`',
    case: 'allReduce over shared-memory',
    form: 'async',
    ways: [inPlace, noInto],
  },
  { ...crossDevice, title: '`reduce`', case: `reduce ${algorithm}`, ways: [inPlace, ofNew, noInto] },
  {
    ...crossDevice,
    title: `\`batchReduce\` of ${pairs} pairs`,
    case: `batchReduce of ${pairs} ${algorithm}`,
    ways: [inPlace, noInto],
    tensors: pairs,
  },
];

const arrays: Readonly<Record<CallMemory, string>> = {
  known: 'the same array again, `into` itself',
  new: 'a new array in each call, `into` itself',
  result: 'the same array again, no `into`',
  both: 'a new array in each call, no `into`',
  alone: 'a new array in each call, not reduced',
  'both-alone': 'two new arrays in each call, not reduced',
};

/** Application-level calls, the peer at the same level, and the communicators below. */
export function calledLines(figures: Figures): CalledLine[] {
  const find = (fits: (row: Row) => boolean) => figures.rows.find((row) => row.ranks === ranks && fits(row));
  const lines = called.flatMap(({ suite, level, title, case: name, form, ways, tensors = 1 }) =>
    ways.map(([memory, place]): CalledLine => {
      const wanted = `${name}${wordsFor(memory, place)}`;
      const told = memory === 'known' && place === 'out' ? 'the same array again, `into` another one' : arrays[memory];
      const isMeant = (row: Row) =>
        row.suite === suite && row.case === wanted && row.form === form && row.engine === engine && row.place === place;
      return {
        level,
        title: `${title}: ${told}`,
        rowOf: (bytes) => find((row) => isMeant(row) && row.bytes === tensors * bytes),
      };
    }),
  );
  return [...lines, ...runLines(find), ...peerLines(find), ...communicatorLines(find)];
}

type Find = (fits: (row: Row) => boolean) => Row | undefined;

function runLines(find: Find): CalledLine[] {
  const ways = [
    ['run of a module', '`run` of an empty module in worker threads: one batch of this size per replica'],
    ['run of a function', '`run` of an empty function in one thread: one batch of this size per replica'],
  ] as const;
  return ways.map(([name, title]) => ({
    level: 'strategy',
    title,
    rowOf: (bytes) => find((row) => row.suite === 'runs' && row.case === name && row.bytes === bytes),
  }));
}

function peerLines(find: Find): CalledLine[] {
  const titles: Readonly<Record<Place, string>> = { in: 'in place', out: 'into another array' };
  const calls = { mpi4py: 'Allreduce', torch: 'all_reduce' };
  return pythonPeers.flatMap((peer) =>
    (['in', 'out'] as const).map((place) => ({
      level: peer,
      title: `processes, \`${calls[peer]}\`: the same array again, ${titles[place]}`,
      rowOf: (bytes: number) =>
        find(
          (row) =>
            row.suite === 'strategy' &&
            row.peer === peer &&
            row.gradients === undefined &&
            row.place === place &&
            row.bytes === bytes,
        ),
    })),
  );
}

function communicatorLines(find: Find): CalledLine[] {
  const ways: readonly (readonly [title: string, name: string, form: Form])[] = [
    ['worker threads, `runSync`', algorithm, 'sync'],
    ['worker threads, `run`', algorithm, 'async'],
    ['one thread, `run`', algorithm, 'controller'],
    ['processes, `runSync`', 'over shared-memory', 'sync'],
    ['processes, `run`', 'over shared-memory', 'async'],
  ];
  return ways.map(([title, name, form]) => ({
    level: 'communicator',
    title: `${title}: the same array again, in place`,
    rowOf: (bytes) =>
      find(
        (row) =>
          row.suite === 'strategy' &&
          row.case === `communicator ${name}` &&
          row.form === form &&
          row.engine === engine &&
          row.bytes === bytes,
      ),
  }));
}

/** The sizes of one array, ascending. */
export function calledSizes(figures: Figures): number[] {
  // The memory bound of a network has the size of all its gradients.
  const isSize = (row: Row) => row.suite === 'strategy' && row.level !== undefined && row.gradients === undefined;
  const rows = figures.rows.filter((row) => row.ranks === ranks && isSize(row));
  return [...new Set(rows.map(({ bytes }) => bytes))].sort((a, b) => a - b);
}

const explanation = [
  'Each cell shows the median time per call and, in brackets, the mean over the whole loop, including garbage collection. The level is the object whose',
  'method is called: the `context` of a replica, cross-device `ops`, the `strategy`, or the `communicator` that these use. The peers',
  'are `mpi4py`, which calls Open MPI, and `torch`, which is `torch.distributed` with Gloo over TCP. PyTorch reduces only in place, so `torch` first copies the input if the result is another array.',
].join('\n');

/** The first tables of docs/internals/benchmarks.md; none if no application-level calls were measured. */
export function calledSections(figures: Figures): string[] {
  const sizes = calledSizes(figures);
  const lines = calledLines(figures).flatMap(({ level, title, rowOf }) => {
    const rows = sizes.map(rowOf);
    return rows.some((row) => row) ? [[title, level, ...rows.map(medianAndMean)]] : [];
  });
  if (lines.length === 0) return [];
  return [
    `### Application-level calls, ${ranks} replicas`,
    explanation,
    markdownTable(['', 'level', ...sizes.map(formatBytes)], lines),
    ...gradientsTable(figures),
  ];
}

/** One list of all gradients in each call of ours; a call for each gradient of the peer's. */
function gradientsTable(figures: Figures): string[] {
  const ways: readonly CallMemory[] = ['known', 'new', 'result', 'alone'];
  const lines = Object.entries(networks).flatMap(([set, network]) => {
    const rows = figures.rows.filter((row) => row.suite === 'strategy' && row.gradients === set && row.ranks === ranks);
    const ours = ways.map((memory) =>
      rows.find(
        (row) => row.case === `${set} allReduceSync ${algorithm}${wordsFor(memory, 'in')}` && row.engine === engine,
      ),
    );
    const [theirs, torch] = pythonPeers.map((peer) => rows.find((row) => row.peer === peer));
    if (rows.length === 0) return [];
    const ratio = ratioOf(ours[0], theirs);
    return [
      [network, ...[...ours, theirs, torch].map(medianAndMean), ratio === undefined ? '' : `**${threeDigits(ratio)}**`],
    ];
  });
  if (lines.length === 0) return [];
  const head = [
    '',
    'the same arrays again',
    'new arrays',
    'no `into`',
    'new arrays, not reduced',
    labels.mpi4py,
    labels.torch,
    'times faster than mpi4py',
  ];
  return [
    `### Gradients of networks through a context, ${ranks} worker threads, \`allReduceSync\``,
    markdownTable(head, lines),
  ];
}

function medianAndMean(row: Row | undefined): string {
  return row ? `${formatMicros(row.medianMicros)} (${formatMicros(row.meanMicros)})` : '';
}

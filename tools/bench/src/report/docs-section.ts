import { peersOver, type Transport, transports } from '../peers/peers.js';
import { formatBytes } from '../sizes.js';
import { tolerableMillis } from '../ticking.js';
import { type Form, type InputKind, inputKinds, type Memory, memoriesOver, type Place } from '../trial.js';
import { calledSections } from './called-section.js';
import { bold, percent, plain, threeDigits, timeOf } from './cells.js';
import { chartNames } from './charts.js';
import { type Family, type Figures, ratioOf, reportOf, type Wanted } from './figures.js';
import { networks, subjects } from './labels.js';
import type { ShownRow } from './results.js';
import type { FailedRow } from './row.js';
import { type Column, tableOf } from './table.js';

/** The generated part of docs/internals/benchmarks.md. */
export function docsSection(rows: readonly (ShownRow | FailedRow)[]): string {
  const { called, main, families } = reportOf(rows);
  const sections = [
    ...sectionsOf(called, calledSections),
    ...sectionsOf(main, communicatorSections),
    ...familiesSection(families),
  ];
  return sections.length === 0 ? 'None have been taken yet.' : sections.join('\n\n');
}

/** Sections of one CPU, below its name and the date. */
function sectionsOf(figures: Figures, make: (figures: Figures) => string[]): string[] {
  const [first] = figures.rows;
  return first ? [originOf(figures, first), ...failuresOf(figures), ...make(figures)] : [];
}

function originOf({ rows, disturbed }: Figures, { cpu, cpus, node, date }: ShownRow): string {
  const spreads = rows.map((row) => row.p95Micros / row.medianMicros).sort((a, b) => a - b);
  return [
    `${cpu}, ${cpus} cores, Node ${node}, ${date.slice(0, 10)}. The figures are medians. In half of the ${rows.length} rows, the 95th percentile of the samples is`,
    `at most ${threeDigits(spreads[Math.floor(spreads.length / 2)] as number)} times the median. During ${disturbed} measurements, other programs used more than 5 % of the machine.`,
    `[figures/results.jsonl](../figures/results.jsonl) contains every figure, with its spread.`,
  ].join('\n');
}

function failuresOf({ failed }: Figures): string[] {
  const lines = failed.map(
    (row) => `- ${row.suite}, ${row.case}, ${row.ranks} ranks, ${formatBytes(row.bytes)}: ${row.failure}`,
  );
  return lines.length === 0 ? [] : [`Cases without figures:\n\n${lines.join('\n')}`];
}

function communicatorSections(figures: Figures): string[] {
  return [
    ...figures.ranksOf('in-process').flatMap((ranks) => inProcessSections(figures, ranks)),
    ...figures.ranksOf('gradients').flatMap((ranks) => gradientsSection(figures, ranks)),
    ...figures.ranksOf('processes').flatMap((ranks) => processesSections(figures, ranks)),
    ...formsSection(figures),
    ...timersSection(figures),
  ];
}

const sizeColumn: Column<Wanted> = { title: '', cellOf: ({ bytes = 0 }) => formatBytes(bytes), isLeft: true };

function timeColumn(title: string, rowOf: (wanted: Wanted) => ShownRow | undefined): Column<Wanted> {
  return { title, cellOf: (wanted) => timeOf(rowOf(wanted)) };
}

/** Times of all engines and other libraries, and how the fastest engine compares with them and with the memory bound. */
function comparisonColumns(figures: Figures, suite: 'in-process' | 'gradients'): Column<Wanted>[] {
  const [best] = figures.engines(suite);
  const ours = (wanted: Wanted) => figures.ours({ ...wanted, engine: best });
  return [
    ...figures
      .engines(suite)
      .map((engine) => timeColumn(subjects[engine].label, (wanted) => figures.ours({ ...wanted, engine }))),
    ...figures.peers(suite).map((peer) => timeColumn(subjects[peer].label, (wanted) => figures.peer(wanted, peer))),
    { title: 'times faster', cellOf: (wanted) => bold(ratioOf(ours(wanted), figures.fastest(wanted))) },
    {
      title: 'of the bound',
      cellOf: (wanted) => (wanted.place === 'out' ? '' : percent(ours(wanted)?.boundShare)),
    },
  ];
}

function inProcessSections(figures: Figures, ranks: number): string[] {
  const suite = 'in-process';
  const pictures = chartNames(ranks).map(({ title, file }) => `![${title}](../figures/${file})`);
  const cases: readonly (readonly [string, InputKind, Place])[] = [
    ['fresh inputs, in place', 'fresh', 'in'],
    ['the same inputs again, in place', 'still', 'in'],
    ['fresh inputs, out of place', 'fresh', 'out'],
  ];
  const columns = [sizeColumn, ...comparisonColumns(figures, suite)];
  const tables = cases.flatMap(([title, input, place]) => {
    const lines = figures
      .sizesOf(suite, ranks)
      .map((bytes): Wanted => ({ suite, ranks, bytes, input, place }))
      .filter((wanted) => figures.fastest(wanted));
    return lines.length === 0 ? [] : [`#### ${ranks} ranks, ${title}`, tableOf(columns, lines)];
  });
  return [`### All-reduce of one buffer, ${ranks} ranks, \`runSync\` of a communicator`, ...pictures, ...tables];
}

function gradientsSection(figures: Figures, ranks: number): string[] {
  const suite = 'gradients';
  const rows = figures.rows.filter((row) => row.suite === suite && row.ranks === ranks && row.gradients !== undefined);
  const sets = [...new Set(rows.map(({ gradients }) => gradients as string))];
  const lines = sets.flatMap((gradients) => {
    const { bytes } = figures.find({ gradients }) as ShownRow;
    return ['fused', 'per tensor'].map(
      (way): Wanted => ({ suite, ranks, bytes, gradients, case: `${gradients} ${way}` }),
    );
  });
  const name: Column<Wanted> = {
    title: '',
    cellOf: ({ gradients = '', bytes = 0, case: name = '' }) =>
      [networks[gradients], formatBytes(bytes), name.slice(gradients.length + 1)].join(', '),
    isLeft: true,
  };
  return [
    `### Gradients of networks, ${ranks} ranks`,
    'A communicator executes `fused`, and cross-device ops execute `per tensor`.',
    tableOf([name, ...comparisonColumns(figures, suite)], lines),
  ];
}

const transportTitles: Readonly<Record<Transport, string>> = {
  'shared-memory': 'shared memory',
  tcp: 'TCP on loopback',
  'encrypted-tcp': 'encrypted TCP on loopback',
};
const inputTitles: Readonly<Record<InputKind, string>> = { still: 'the same inputs again', fresh: 'fresh inputs' };
const memoryTitles: Readonly<Record<Memory, string>> = { arena: 'own memory', ordinary: 'ordinary arrays' };

function processesSections(figures: Figures, ranks: number): string[] {
  const suite = 'processes';
  return transports.flatMap((transport) => {
    const over = transportTitles[transport];
    const columns = [sizeColumn, ...processesColumns(figures, transport)];
    const tables = inputKinds.flatMap((input) => {
      const lines = figures
        .sizesOf(suite, ranks)
        .map((bytes): Wanted => ({ suite, ranks, bytes, input }))
        .filter((wanted) => memoriesOver[transport].some((memory) => figures.find({ ...wanted, transport, memory })));
      if (lines.length === 0) return [];
      return [`#### ${ranks} ranks over ${over}, ${inputTitles[input]}, in place`, tableOf(columns, lines)];
    });
    return tables.length === 0 ? [] : [`### Communicators of processes over ${over}, ${ranks} ranks`, ...tables];
  });
}

/** Times of coll by memory and form, of threads if processes share memory, and of other libraries; and how they compare. */
function processesColumns(figures: Figures, transport: Transport): Column<Wanted>[] {
  const memories = memoriesOver[transport];
  const [first] = memories;
  const isShared = transport === 'shared-memory';
  const peers = peersOver[transport];
  const ours = (wanted: Wanted, memory: Memory | undefined, form: Form = 'sync') =>
    figures.ours({ ...wanted, engine: 'native', transport, memory, form });
  const notEncrypted = (wanted: Wanted) =>
    transport === 'encrypted-tcp'
      ? figures.ours({ ...wanted, engine: 'native', transport: 'tcp', memory: first, form: 'sync' })
      : undefined;
  const threads = (wanted: Wanted) => (isShared ? figures.ours({ ...wanted, engine: 'native' }) : undefined);
  return [
    ...memories.flatMap((memory) => [
      timeColumn(memoryTitles[memory], (wanted) => ours(wanted, memory)),
      timeColumn(`${memoryTitles[memory]}, \`await\``, (wanted) => ours(wanted, memory, 'async')),
    ]),
    timeColumn('threads', threads),
    timeColumn('not encrypted', notEncrypted),
    ...figures
      .peers('processes')
      .filter((peer) => peers.includes(peer))
      .map((peer) => timeColumn(subjects[peer].label, (wanted) => figures.peer(wanted, peer))),
    ...memories.map((memory) => ({
      title: memory === first ? 'times faster' : `${memory}, times faster`,
      cellOf: (wanted: Wanted) => bold(ratioOf(ours(wanted, memory), figures.fastest(wanted, peers))),
    })),
    { title: 'of not encrypted', cellOf: (wanted) => plain(ratioOf(notEncrypted(wanted), ours(wanted, first))) },
    { title: 'times the threads', cellOf: (wanted) => plain(ratioOf(threads(wanted), ours(wanted, first))) },
    {
      title: 'of the bound',
      cellOf: (wanted) => (isShared ? percent(ours(wanted, first)?.boundShare) : ''),
    },
  ];
}

/** The cost of a promise. */
function formsSection(figures: Figures): string[] {
  const suite = 'in-process';
  const [engine] = figures.engines(suite);
  const [ranks] = figures.ranksOf(suite);
  if (engine === undefined || ranks === undefined) return [];
  const columns = [
    timeColumn('one thread per rank, `runSync`', (wanted) => figures.ours(wanted)),
    timeColumn('one thread per rank, `await run`', (wanted) => figures.ours({ ...wanted, form: 'async' })),
    timeColumn('one controller, `await run`', (wanted) => figures.ours({ ...wanted, form: 'controller' })),
  ];
  const lines = figures
    .sizesOf(suite, ranks)
    .map((bytes): Wanted => ({ suite, ranks, bytes, engine }))
    .filter((wanted) => columns.every(({ cellOf }) => cellOf(wanted) !== ''));
  if (lines.length === 0) return [];
  const title = `### Ways to call a communicator, ${ranks} ranks, ${subjects[engine].label}`;
  return [title, tableOf([sizeColumn, ...columns], lines)];
}

function timersSection(figures: Figures): string[] {
  const rows = figures.rows.filter(({ timers }) => timers !== undefined);
  if (rows.length === 0) return [];
  const columns: Column<ShownRow>[] = [
    {
      title: '',
      cellOf: (row) => `${row.ranks} ranks, ${formatBytes(row.bytes)}, ${row.engine} ${row.form}`,
      isLeft: true,
    },
    { title: 'time per call', cellOf: timeOf },
    { title: 'timers', cellOf: ({ timers }) => String(timers) },
    {
      title: `at most ${tolerableMillis} ms late`,
      cellOf: ({ onTimeShare = 0 }) => `${(onTimeShare * 100).toFixed(2)} %`,
    },
    { title: 'latest', cellOf: ({ worstTimerMillis = 0 }) => `${threeDigits(worstTimerMillis)} ms` },
  ];
  return ['### 1 ms timers while all-reduces of a communicator are awaited', tableOf(columns, rows)];
}

/** CPUs side by side; none if only one has figures. */
function familiesSection(all: readonly Family[]): string[] {
  const suite = 'in-process';
  const families = all.filter(({ figures }) => figures.ranksOf(suite).length > 0);
  const [ranks] = families[0]?.figures.ranksOf(suite) ?? [];
  if (ranks === undefined || families.length < 2) return [];
  const columns = families.flatMap(({ name, figures }): Column<Wanted>[] => {
    const [engine] = figures.engines(suite);
    const ours = (wanted: Wanted) => figures.ours({ ...wanted, engine });
    return [
      timeColumn(`coll, ${name}`, ours),
      timeColumn('fastest peer', (wanted) => figures.fastest(wanted)),
      { title: 'times faster', cellOf: (wanted) => bold(ratioOf(ours(wanted), figures.fastest(wanted))) },
    ];
  });
  const sizes = new Set(families.flatMap(({ figures }) => figures.sizesOf(suite, ranks)));
  const tables = (['fresh', 'still'] as const).flatMap((input) => {
    const title = input === 'fresh' ? 'Fresh inputs' : 'The same inputs again';
    const lines = [...sizes]
      .sort((a, b) => a - b)
      .map((bytes): Wanted => ({ suite, ranks, bytes, input }))
      .filter((wanted) => columns.every(({ title, cellOf }) => !title.startsWith('coll') || cellOf(wanted) !== ''));
    return lines.length === 0 ? [] : [`#### ${title}, in place`, tableOf([sizeColumn, ...columns], lines)];
  });
  if (tables.length === 0) return [];
  const origins = families.map(
    ({ name, figures }) => `- ${name}, Node ${figures.find({ suite, ranks })?.node}, ${figures.daysOf(suite)}`,
  );
  return [
    `### All-reduce of one buffer on several CPUs, ${ranks} ranks, \`runSync\` of a communicator`,
    'Times in a row of one CPU were taken in the same run. Figures of different CPUs may be of different commits, so compare ratios rather than times:',
    origins.join('\n'),
    ...tables,
  ];
}

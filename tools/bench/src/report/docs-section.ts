import { formatBytes } from '../sizes.js';
import { tolerableMillis } from '../ticking.js';
import { forms, type InputKind, type Place } from '../trial.js';
import { calledSections, calledSuites } from './called-section.js';
import { bold, percent, timeOf } from './cells.js';
import { chartNames } from './charts.js';
import { daysOf, familiesOf, familyFigures } from './families.js';
import { disturbedAmong, Figures, ratioOf, type Wanted } from './figures.js';
import { labels, networks } from './labels.js';
import { markdownTable } from './markdown-table.js';
import { threeDigits } from './numbers.js';
import { processesSections } from './processes-section.js';
import { type FailedRow, isMeasured, type Row } from './row.js';

const isCalled = ({ suite }: Row | FailedRow) => calledSuites.includes(suite);

/** The part of docs/internals/benchmarks.md that is made from figures. */
export function docsSection(rows: readonly (Row | FailedRow)[]): string {
  const sections = [
    ...sectionsOf(familiesOf(rows.filter(isCalled))[0]?.rows ?? [], calledSections),
    ...sectionsOf(mainRows(rows), communicatorSections),
    ...familiesSection(rows),
  ];
  return sections.length === 0 ? 'None have been taken yet.' : sections.join('\n\n');
}

/** The rows of communicators of the CPU that has most of them. */
export function mainRows(rows: readonly (Row | FailedRow)[]): readonly (Row | FailedRow)[] {
  return familiesOf(rows.filter((row) => !isCalled(row)))[0]?.rows ?? [];
}

/** CPUs side by side; none if only one has figures. */
function familiesSection(rows: readonly (Row | FailedRow)[]): string[] {
  const suite = 'in-process';
  const families = familyFigures(rows, suite);
  const [ranks] = families[0]?.figures.ranksOf(suite) ?? [];
  if (ranks === undefined || families.length < 2) return [];
  const lineOf = (bytes: number, input: InputKind) =>
    families.map(({ figures }) => {
      const [engine] = figures.engines(suite);
      const wanted = { suite, ranks, bytes, input } as const;
      return { ours: engine && figures.ours(wanted, engine), theirs: figures.fastest(wanted) };
    });
  const tables = (['fresh', 'still'] as const).flatMap((input) => {
    const sizes = [...new Set(families.flatMap(({ figures }) => figures.sizesOf(suite, ranks)))].sort((a, b) => a - b);
    const lines = sizes
      .map((bytes) => ({ bytes, line: lineOf(bytes, input) }))
      .filter(({ line }) => line.every(({ ours }) => ours));
    const cells = lines.map(({ bytes, line }) => [
      formatBytes(bytes),
      ...line.flatMap(({ ours, theirs }) => [timeOf(ours), timeOf(theirs), bold(ratioOf(ours, theirs))]),
    ]);
    const head = ['', ...families.flatMap(({ name }) => [`coll, ${name}`, 'fastest peer', 'times faster'])];
    return cells.length === 0 ? [] : [`#### ${inputTitles[input]}, in place`, markdownTable(head, cells)];
  });
  if (tables.length === 0) return [];
  const origins = families.map(({ name, figures }) => {
    const measured = figures.rows.filter((row) => row.suite === suite && row.ranks === ranks);
    return `- ${name}, Node ${measured[0]?.node}, ${daysOf(measured)}`;
  });
  return [
    `### All-reduce of one buffer on several CPUs, ${ranks} ranks, \`runSync\` of a communicator`,
    'Times in a row of one CPU were taken in the same run. Figures of different CPUs may be of different commits, so compare ratios rather than times:',
    origins.join('\n'),
    ...tables,
  ];
}

const inputTitles: Readonly<Record<InputKind, string>> = { fresh: 'Fresh inputs', still: 'The same inputs again' };

/** Sections about rows that were taken together, below where and when that was. */
function sectionsOf(rows: readonly (Row | FailedRow)[], make: (figures: Figures) => string[]): string[] {
  const figures = new Figures(rows);
  const [first] = figures.rows;
  return first ? [originOf(figures.rows, first), ...failuresOf(rows), ...make(figures)] : [];
}

function communicatorSections(figures: Figures): string[] {
  return [
    ...figures.ranksOf('in-process').flatMap((ranks) => inProcessSections(figures, ranks)),
    ...figures.ranksOf('gradients').map((ranks) => gradientsSection(figures, ranks)),
    ...processesSections(figures),
    ...formsSection(figures),
    ...timersSection(figures),
  ];
}

function originOf(rows: readonly Row[], { cpu, cpus, node, date }: Row): string {
  const spreads = rows.map((row) => row.p95Micros / row.medianMicros).sort((a, b) => a - b);
  return [
    `${cpu}, ${cpus} cores, Node ${node}, ${date.slice(0, 10)}. The figures are medians. In half of the ${rows.length} rows, the 95th percentile of the samples is`,
    `at most ${threeDigits(spreads[Math.floor(spreads.length / 2)] as number)} times the median. During ${disturbedAmong(rows)} measurements, other programs used more than 5 % of the machine.`,
    `[figures/results.jsonl](../figures/results.jsonl) contains every figure, with its spread.`,
  ].join('\n');
}

function failuresOf(rows: readonly (Row | FailedRow)[]): string[] {
  const lines = rows.flatMap((row) =>
    isMeasured(row)
      ? []
      : [`- ${row.suite}, ${row.case}, ${row.ranks} ranks, ${formatBytes(row.bytes)}: ${row.failure}`],
  );
  if (lines.length === 0) return [];
  return [`Cases without figures:\n\n${lines.join('\n')}`];
}

function inProcessSections(figures: Figures, ranks: number): string[] {
  const pictures = chartNames(ranks).map(({ title, file }) => `![${title}](../figures/${file})`);
  const cases: readonly (readonly [string, InputKind, Place])[] = [
    ['fresh inputs, in place', 'fresh', 'in'],
    ['the same inputs again, in place', 'still', 'in'],
    ['fresh inputs, out of place', 'fresh', 'out'],
  ];
  const tables = cases.flatMap(([title, input, place]) => {
    const wanted = { suite: 'in-process', ranks, input, place } as const;
    const sizes = figures.sizesOf('in-process', ranks).filter((bytes) => figures.fastest({ ...wanted, bytes }));
    return sizes.length === 0
      ? []
      : [
          `#### ${ranks} ranks, ${title}`,
          timesTable(
            figures,
            sizes.map((bytes) => ({ ...wanted, bytes })),
          ),
        ];
  });
  return [`### All-reduce of one buffer, ${ranks} ranks, \`runSync\` of a communicator`, ...pictures, ...tables];
}

/** Times of everybody, a line a size, and how ours compares. */
function timesTable(figures: Figures, lines: readonly Wanted[]): string {
  const suite = 'in-process';
  const [engines, peers] = [figures.engines(suite), figures.peers(suite)];
  const hasBound = lines.some((wanted) => wanted.place === 'in' && figures.bound(wanted));
  const [best] = engines;
  const head = [
    '',
    ...[...engines, ...peers].map((name) => labels[name]),
    'times faster',
    ...(hasBound ? ['of the bound'] : []),
  ];
  const cells = lines.map((wanted) => {
    const ours = best && figures.ours(wanted, best);
    return [
      formatBytes(wanted.bytes),
      ...engines.map((name) => timeOf(figures.ours(wanted, name))),
      ...peers.map((name) => timeOf(figures.peer(wanted, name))),
      bold(ratioOf(ours, figures.fastest(wanted))),
      ...(hasBound ? [percent(ours?.boundShare)] : []),
    ];
  });
  return markdownTable(head, cells);
}

function gradientsSection(figures: Figures, ranks: number): string {
  const suite = 'gradients';
  const [engines, peers] = [figures.engines(suite), figures.peers(suite)];
  const [best] = engines;
  const sets = [
    ...new Set(
      figures.rows.filter((row) => row.suite === suite && row.ranks === ranks).flatMap((row) => row.gradients ?? []),
    ),
  ];
  const lines = sets.flatMap((set) =>
    ['fused', 'per tensor'].map((way) => {
      const bytes = figures.rows.find((row) => row.gradients === set)?.bytes ?? 0;
      const wanted = { suite, ranks, bytes, case: `${set} ${way}` } as const;
      const ours = best && figures.ours(wanted, best);
      return [
        `${networks[set]}, ${formatBytes(bytes)}, ${way}`,
        ...engines.map((name) => timeOf(figures.ours(wanted, name))),
        ...peers.map((name) => timeOf(figures.peer(wanted, name))),
        bold(ratioOf(ours, figures.fastest(wanted))),
        percent(ours?.boundShare),
      ];
    }),
  );
  const head = ['', ...[...engines, ...peers].map((name) => labels[name]), 'times faster', 'of the bound'];
  const level = 'A communicator executes `fused`, and cross-device ops execute `per tensor`.';
  return `### Gradients of networks, ${ranks} ranks\n\n${level}\n\n${markdownTable(head, lines)}`;
}

/** What a promise costs. */
function formsSection(figures: Figures): string[] {
  const suite = 'in-process';
  const [best] = figures.engines(suite);
  const [ranks] = figures.ranksOf(suite);
  if (best === undefined || ranks === undefined) return [];
  const lines = figures.sizesOf(suite, ranks).flatMap((bytes) => {
    const rows = forms.map((form) => figures.ours({ suite, ranks, bytes }, best, form));
    return rows.every((row) => row) ? [[formatBytes(bytes), ...rows.map(timeOf)]] : [];
  });
  if (lines.length === 0) return [];
  const head = [
    '',
    'one thread per rank, `runSync`',
    'one thread per rank, `await run`',
    'one controller, `await run`',
  ];
  return [`### Ways to call a communicator, ${ranks} ranks, ${labels[best]}`, markdownTable(head, lines)];
}

function timersSection(figures: Figures): string[] {
  const rows = figures.rows.filter(({ timers }) => timers !== undefined);
  if (rows.length === 0) return [];
  const lines = rows.map((row) => [
    `${row.ranks} ranks, ${formatBytes(row.bytes)}, ${row.engine} ${row.form}`,
    timeOf(row),
    String(row.timers),
    `${((row.onTimeShare ?? 0) * 100).toFixed(2)} %`,
    `${threeDigits(row.worstTimerMillis ?? 0)} ms`,
  ]);
  const head = ['', 'time per call', 'timers', `at most ${tolerableMillis} ms late`, 'latest'];
  return ['### 1 ms timers while all-reduces of a communicator are awaited', markdownTable(head, lines)];
}

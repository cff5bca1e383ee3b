import { bytesText } from '../trace/call-text.js';
import { aligned } from '../trace/rank-table.js';
import { count, percent } from '../try-verdict.js';
import type { RankState, Snapshot } from './snapshot.js';

/** The space for a view; undefined means as much as it needs. */
export interface ViewSize {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

interface Column {
  readonly title: string;
  /** In a narrow terminal, columns with a greater number are left out first. */
  readonly order: number;
  readonly text: (row: RankState) => string;
}

/** A snapshot as lines of text. */
export function linesOf(snapshot: Snapshot, { columns = Number.POSITIVE_INFINITY, rows }: ViewSize = {}): string[] {
  const before = [headOf(snapshot), ...(snapshot.verdict.kind === 'healthy' ? [] : [snapshot.verdict.sentence]), ''];
  const after = warningLines(snapshot);
  const room = rows === undefined ? Number.POSITIVE_INFINITY : Math.max(2, rows - before.length - after.length - 1);
  const table = tableOf(snapshot, columns);
  const shown = table.length <= room + 1 ? table : table.slice(0, room);
  const hidden = table.length - shown.length;
  const lines = [...before, ...shown, ...(hidden > 0 ? [`… and ${hidden} more`] : []), ...after];
  return lines.map((line) => cut(line, columns));
}

function headOf({ job, ranks, size, hosts }: Snapshot): string {
  const rates = ranks.flatMap(({ stepsPerSecond }) => (stepsPerSecond === undefined ? [] : [stepsPerSecond]));
  const samples = ranks.flatMap(({ samplesPerSecond }) => (samplesPerSecond === undefined ? [] : [samplesPerSecond]));
  const memory = new Map(ranks.map(({ host, pid, residentBytes }) => [`${host} ${pid}`, residentBytes]));
  const known = ranks.filter(({ rank }) => rank !== undefined).length;
  return [
    `job ${job}: ${known === size ? '' : `${known} of `}${size} rank${size === 1 ? '' : 's'} on ${hosts} host${hosts === 1 ? '' : 's'}`,
    ...(rates.length > 0 ? [`${count(Math.max(...rates))} steps/s`] : []),
    ...(samples.length > 0 ? [`${count(samples.reduce((sum, rate) => sum + rate, 0))} samples/s`] : []),
    `${bytesText([...memory.values()].reduce((sum, bytes) => sum + bytes, 0))} of memory`,
  ].join(', ');
}

/** A line for each thread, which ends with what the thread does. */
function tableOf({ ranks, hosts }: Snapshot, most: number): readonly string[] {
  let columns = columnsOf(hosts > 1);
  for (;;) {
    const cells = [columns.map(({ title }) => title), ...ranks.map((row) => columns.map(({ text }) => text(row)))];
    const lines = aligned(cells).split('\n');
    const states = ['', ...ranks.map(({ state }) => state)];
    if ((lines[0] as string).length + leastState <= most || columns.length <= 2)
      return lines.map((line, index) => `${line}   ${states[index]}`.trimEnd());
    const last = Math.max(...columns.map(({ order }) => order));
    columns = columns.filter(({ order }) => order !== last);
  }
}

/** Columns that are left for the state of a thread, at least. */
const leastState = 24;

function columnsOf(hasHosts: boolean): readonly Column[] {
  const known = (value: number | undefined, text: (value: number) => string) =>
    value === undefined ? '–' : text(value);
  const columns: readonly (readonly [string, number, Column['text']])[] = [
    ['rank', 0, ({ rank }) => known(rank, String)],
    ...(hasHosts ? ([['host', 6, ({ host }: RankState) => host]] as const) : []),
    ['pid', 7, ({ pid, thread }) => (thread === 0 ? String(pid) : `${pid}/${thread}`)],
    ['steps/s', 5, ({ stepsPerSecond }) => known(stepsPerSecond, count)],
    ['calls/s', 1, ({ callsPerSecond }) => known(callsPerSecond, count)],
    ['bytes/s', 4, ({ bytesPerSecond }) => known(bytesPerSecond, bytesText)],
    ['exchange', 3, ({ exchange }) => known(exchange, percent)],
    ['waiting', 2, ({ waiting }) => known(waiting, percent)],
    ['CPU', 8, ({ cpu }) => known(cpu, percent)],
    ['memory', 9, ({ residentBytes }) => bytesText(residentBytes)],
  ];
  return columns.map(([title, order, text]) => ({ title, order, text }));
}

function warningLines({ warnings }: Snapshot): readonly string[] {
  if (warnings.length === 0) return [];
  const lines = warnings.map(({ time, rank, kind, text }) => {
    const who = rank === undefined ? '' : `rank ${rank}: `;
    return `${new Date(time).toTimeString().slice(0, 8)} ${who}${kind}: ${text}`;
  });
  return ['', ...lines];
}

function cut(line: string, most: number): string {
  const characters = [...line];
  return characters.length <= most ? line : `${characters.slice(0, Math.max(0, most - 1)).join('')}…`;
}

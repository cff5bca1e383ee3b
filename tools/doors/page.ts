import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readRows, writeRows } from '../docs/src/json-lines.ts';
import { markdownTable } from '../docs/src/markdown-table.ts';
import { withParts } from '../docs/src/sections.ts';
import type { Outcome, Table } from './table.ts';

/** The latest run of a column. */
export interface ColumnRun {
  readonly table: string;
  readonly column: string;
  readonly version: string;
  /** The day, such as `2026-11-28`. */
  readonly date: string;
  readonly machine: string;
  /** The outcomes by row. */
  readonly cells: Readonly<Record<string, Outcome>>;
}

const page = path.resolve(import.meta.dirname, '../../docs/reference/runtimes.md');

export const readRuns = (): readonly ColumnRun[] => readRows<ColumnRun>('doors');

/** Replaces the runs of the same columns, and writes the page. */
export function writeRuns(runs: readonly ColumnRun[], tables: readonly Table[]): void {
  const isReplaced = (run: ColumnRun) => runs.some(({ table, column }) => table === run.table && column === run.column);
  const all = [...readRuns().filter((run) => !isReplaced(run)), ...runs];
  // In the order of the tables, so that two calls change few lines.
  const sorted = tables.flatMap(({ name, columns }) =>
    columns.flatMap((column) => all.filter((run) => run.table === name && run.column === column)),
  );
  writeRows('doors', sorted);
  writeFileSync(page, currentPage(tables));
}

/** The page with the tables of the latest runs. */
export function currentPage(tables: readonly Table[]): string {
  const runs = readRuns();
  const parts = tables.map((table) => [table.name, sectionOf(table, runs)] as const);
  return withParts(readFileSync(page, 'utf8'), new Map(parts));
}

/** The table in Markdown, the notes below it, and where its columns were run. */
export function sectionOf({ name, columns, rows }: Table, all: readonly ColumnRun[]): string {
  const runs = all.filter(({ table }) => table === name);
  const runOf = (column: string) => runs.find((run) => run.column === column);
  const notes: string[] = [];
  const numberOf = (note: string) => {
    if (!notes.includes(note)) notes.push(note);
    return notes.indexOf(note) + 1;
  };
  const lines = rows.map((row) => [row, ...columns.map((column) => cellText(runOf(column)?.cells[row], numberOf))]);
  const versions = ['version', ...columns.map((column) => runOf(column)?.version ?? '')];
  const table = markdownTable(['', ...columns], [versions, ...lines], 1 + columns.length);
  const list = notes.map((note, index) => `${index + 1}. ${note}`).join('\n');
  return [table, ...(list === '' ? [] : [list]), originOf(runs)].join('\n\n');
}

function cellText(outcome: Outcome | undefined, numberOf: (note: string) => number): string {
  if (!outcome) return 'not run';
  const { result, code, note } = outcome;
  const text = { ok: 'yes', refused: `\`${code}\``, impossible: '–', failed: 'fails' }[result];
  return note === undefined ? text : `${text} (${numberOf(note)})`;
}

function originOf(runs: readonly ColumnRun[]): string {
  const origins = [...new Set(runs.map(({ date, machine }) => `${machine}, ${date}`))];
  const columnsAt = (origin: string) => runs.filter(({ date, machine }) => `${machine}, ${date}` === origin);
  const [only] = origins;
  if (only === undefined) return 'No column has been run yet.';
  if (origins.length === 1) return `${only}.`;
  return origins
    .map(
      (origin) =>
        `${columnsAt(origin)
          .map(({ column }) => column)
          .join(', ')}: ${origin}.`,
    )
    .join('\n');
}

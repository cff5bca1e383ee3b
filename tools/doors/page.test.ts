import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type ColumnRun, currentPage, readRuns, sectionOf } from './page.ts';
import type { Table } from './table.ts';
import { tables } from './tables.ts';

const table = { name: 'systems', columns: ['one', 'two', 'three'], rows: ['start', 'stop'] } as unknown as Table;
const run = { table: 'systems', version: '1.2', date: '2030-01-02', machine: 'A Processor, 2 cores' };
const runs: ColumnRun[] = [
  {
    ...run,
    column: 'one',
    cells: { start: { result: 'ok' }, stop: { result: 'refused', code: 'ERR_COLL_X', note: 'no TLS' } },
  },
  {
    ...run,
    column: 'three',
    cells: { start: { result: 'impossible', note: 'no processes' }, stop: { result: 'failed', note: 'no TLS' } },
  },
];

it('a section lists versions, outcomes, cells that were not run, and equal notes once', () => {
  expect(sectionOf(table, runs)).toBe(`|  | one | two | three |
| --- | --- | --- | --- |
| version | 1.2 |  | 1.2 |
| start | yes | not run | – (1) |
| stop | \`ERR_COLL_X\` (2) | not run | fails (2) |

1. no processes
2. no TLS

A Processor, 2 cores, 2030-01-02.`);
});

it('a section names the columns of each machine and day', () => {
  const [first, last] = runs as [ColumnRun, ColumnRun];
  const text = sectionOf(table, [first, { ...last, date: '2031-02-03' }]);
  expect(text).toContain('\n\none: A Processor, 2 cores, 2030-01-02.\nthree: A Processor, 2 cores, 2031-02-03.');
});

it('docs/reference/runtimes.md shows the latest runs: npm run doors', () => {
  const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/reference/runtimes.md'), 'utf8');
  expect(page).toBe(currentPage(tables));
});

it.each(tables.flatMap(({ name, columns, rows }) => columns.map((column) => ({ name, column, rows }))))(
  'the table of $name has a cell without failure for $column in every row: npm run doors',
  ({ name, column, rows }) => {
    const cells = readRuns().find((run) => run.table === name && run.column === column)?.cells ?? {};
    expect(rows.filter((row) => (cells[row] ?? { result: 'failed' }).result === 'failed')).toEqual([]);
  },
);

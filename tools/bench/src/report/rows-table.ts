import { formatBytes } from '../sizes.js';
import { executorOf } from '../trial.js';
import { formatMicros, percent, plain, threeDigits } from './cells.js';
import { type FailedRow, isMeasured, type Row } from './row.js';
import { type Column, tableOf } from './table.js';

type Line = Row | FailedRow;

/** A column of figures, which rows of failed cases do not have. */
function figure(title: string, cellOf: (row: Row) => string): Column<Line> {
  return { title, cellOf: (row) => (isMeasured(row) ? cellOf(row) : '') };
}

const columns: readonly Column<Line>[] = [
  { title: 'case', cellOf: (row) => row.case, isLeft: true },
  { title: 'engine', cellOf: executorOf, isLeft: true },
  { title: 'ranks', cellOf: (row) => String(row.ranks) },
  { title: 'size', cellOf: (row) => formatBytes(row.bytes) },
  figure('median', (row) => formatMicros(row.medianMicros)),
  figure('mean', (row) => formatMicros(row.meanMicros)),
  figure('min', (row) => formatMicros(row.minMicros)),
  figure('p95', (row) => formatMicros(row.p95Micros)),
  figure('alg GB/s', (row) => threeDigits(row.algGBs)),
  figure('bus GB/s', (row) => threeDigits(row.busGBs)),
  figure('copies', (row) => threeDigits(row.copyRatio)),
  figure('of bound', (row) => percent(row.boundShare)),
  figure('over C', (row) => (row.overProgramMicros === undefined ? '' : formatMicros(row.overProgramMicros))),
  figure('times C', (row) => plain(row.programRatio)),
  figure('times blocking', (row) => plain(row.blockingRatio)),
  figure('hidden', (row) => (row.hiddenShare === undefined ? '' : `${Math.round(row.hiddenShare * 100)} %`)),
  { title: 'failure', cellOf: (row) => (isMeasured(row) ? '' : row.failure), isLeft: true },
];

/** The table of a measurement: a line per case and size. */
export function rowsTable(rows: readonly Line[], format: 'terminal' | 'markdown'): string {
  return tableOf(columns, rows, format);
}

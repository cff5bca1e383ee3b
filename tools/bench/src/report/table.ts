import Table from 'cli-table3';
import { formatBytes } from '../sizes.js';
import { formatMicros, threeDigits } from './numbers.js';
import { type FailedRow, isMeasured, playerOf, type Row } from './row.js';

const cases: readonly (readonly [title: string, cell: (row: Row | FailedRow) => string])[] = [
  ['case', (row) => row.case],
  ['engine', playerOf],
  ['ranks', (row) => String(row.ranks)],
  ['size', (row) => formatBytes(row.bytes)],
];
const figures: readonly (readonly [title: string, cell: (row: Row) => string])[] = [
  ['median', (row) => formatMicros(row.medianMicros)],
  ['mean', (row) => formatMicros(row.meanMicros)],
  ['min', (row) => formatMicros(row.minMicros)],
  ['p95', (row) => formatMicros(row.p95Micros)],
  ['alg GB/s', (row) => threeDigits(row.algGBs)],
  ['bus GB/s', (row) => threeDigits(row.busGBs)],
  ['copies', (row) => threeDigits(row.copyRatio)],
  ['of bound', ({ boundShare }) => (boundShare === undefined ? '' : `${threeDigits(boundShare * 100)} %`)],
  ['over C', ({ overProgramMicros }) => (overProgramMicros === undefined ? '' : formatMicros(overProgramMicros))],
  ['times C', ({ programRatio }) => (programRatio === undefined ? '' : threeDigits(programRatio))],
  ['times blocking', ({ blockingRatio }) => (blockingRatio === undefined ? '' : threeDigits(blockingRatio))],
  ['hidden', ({ hiddenShare }) => (hiddenShare === undefined ? '' : `${Math.round(hiddenShare * 100)} %`)],
];

/** A table for the terminal. */
export function tableOf(rows: readonly (Row | FailedRow)[]): string {
  const table = new Table({
    head: [...cases, ...figures].map(([title]) => title),
    colAligns: [...cases, ...figures].map((_, index) => (index < 2 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) {
    const told = isMeasured(row)
      ? figures.map(([, cell]) => cell(row))
      : [{ colSpan: figures.length, content: row.failure, hAlign: 'left' as const }];
    table.push([...cases.map(([, cell]) => cell(row)), ...told]);
  }
  return table.toString();
}

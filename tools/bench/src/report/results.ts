import { machineName } from './machine.js';
import type { FailedRow, Row } from './row.js';

/** Fields that the rows of one case have in common. */
const caseFields = [
  ...(['suite', 'case', 'engine', 'level', 'form', 'peer', 'gradients', 'transport', 'memory'] as const),
  ...(['input', 'place', 'ranks', 'date', 'node', 'cpu', 'cpuDesign', 'cpus', 'emulatedCores'] as const),
] as const;

/** Fields that differ by size. */
const figureFields = [
  ...(['bytes', 'medianMicros', 'meanMicros', 'p95Micros', 'boundShare'] as const),
  ...(['timers', 'onTimeShare', 'worstTimerMillis', 'foreignLoad'] as const),
] as const;

/** The fields of a row from which the pages are made. */
export type ShownRow = Pick<Row, (typeof caseFields | typeof figureFields)[number]>;

type AnyRow = Readonly<Record<string, unknown>>;

/** The text of the results file: a line of JSON per case, with a list over the sizes for each figure. */
export function formatResults(rows: readonly (ShownRow | FailedRow)[]): string {
  const cases = new Map<string, AnyRow[]>();
  for (const row of rows as readonly AnyRow[]) {
    const key = JSON.stringify(row, [...caseFields]);
    cases.set(key, [...(cases.get(key) ?? []), row]);
  }
  const lines = [...cases].map(([key, own]) => {
    const fields = [...figureFields, 'failure'].filter((field) => own.some((row) => row[field] !== undefined));
    const lists = fields.map((field) => [field, own.map((row) => row[field])]);
    return `${JSON.stringify({ ...JSON.parse(key), ...Object.fromEntries(lists) })}\n`;
  });
  return lines.join('');
}

/** The rows of a text that `formatResults` has made. */
export function parseResults(text: string): (ShownRow | FailedRow)[] {
  const lines = text.trim().split('\n');
  return lines.flatMap((line) => {
    const fields = Object.entries<unknown>(JSON.parse(line));
    const sizes = (fields.find(([field]) => field === 'bytes') as [string, unknown[]])[1];
    return sizes.map((_, index) => {
      const own = fields.map(([field, value]) => [field, Array.isArray(value) ? value[index] : value]);
      return Object.fromEntries(own.filter(([, value]) => value !== null)) as ShownRow | FailedRow;
    });
  });
}

/** The rows with new ones in place of those of the same suites on the same CPU. */
export function withNewRows(
  before: readonly (ShownRow | FailedRow)[],
  rows: readonly (ShownRow | FailedRow)[],
): (ShownRow | FailedRow)[] {
  const keyOf = (row: ShownRow | FailedRow) => `${row.suite}, ${machineName(row)}`;
  const anew = new Set(rows.map(keyOf));
  return [...before.filter((row) => !anew.has(keyOf(row))), ...rows];
}

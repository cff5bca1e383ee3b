import { Figures } from './figures.js';
import { machineName } from './machine.js';
import type { FailedRow, Row } from './row.js';

/** The figures of one CPU model with one number of cores. */
export interface Family {
  /** The CPU and its cores, such as `A Processor, 2 cores`. */
  readonly name: string;
  readonly rows: readonly (Row | FailedRow)[];
}

/** The families of CPUs that rows were taken on, those with most rows first. */
export function familiesOf(rows: readonly (Row | FailedRow)[]): Family[] {
  const names = [...new Set(rows.map(machineName))];
  return names
    .map((name) => ({ name, rows: rows.filter((row) => machineName(row) === name) }))
    .sort((one, other) => other.rows.length - one.rows.length);
}

/**
 * The checked-in rows with new ones in the place of those that they take anew: the rows of the same
 * suites on the same CPU.
 */
export function withNewRows(
  before: readonly (Row | FailedRow)[],
  rows: readonly (Row | FailedRow)[],
): (Row | FailedRow)[] {
  const keyOf = (row: Row | FailedRow) => `${row.suite}, ${machineName(row)}`;
  const anew = new Set(rows.map(keyOf));
  return [...before.filter((row) => !anew.has(keyOf(row))), ...rows];
}

/** The days on which figures were taken: one, or the first and the last. */
export function daysOf(rows: readonly Row[]): string {
  const days = rows.map(({ date }) => date.slice(0, 10)).sort();
  const [first, last] = [days[0], days.at(-1)];
  return first === last ? `${first}` : `${first} to ${last}`;
}

/** The figures of each family that has some of a suite, in the order of `familiesOf`. */
export function familyFigures(
  rows: readonly (Row | FailedRow)[],
  suite: Row['suite'],
): { readonly name: string; readonly figures: Figures }[] {
  return familiesOf(rows)
    .map((family) => ({ name: family.name, figures: new Figures(family.rows) }))
    .filter(({ figures }) => figures.rows.some((row) => row.suite === suite));
}

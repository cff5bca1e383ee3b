import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ScaleRow } from '../scale/count.js';
import { scaleCharts, scaleSection } from '../scale/scale-section.js';
import { UsageError } from '../usage-error.js';
import { chartsOf } from './charts.js';
import { docsSection, mainRows } from './docs-section.js';
import { withNewRows } from './families.js';
import { readmeSection } from './readme-section.js';
import type { FailedRow, Row } from './row.js';
import { scalingChart } from './scaling-chart.js';

const root = path.resolve(import.meta.dirname, '../../../..');
const results = 'docs/figures/results.jsonl';
const counted = 'docs/figures/scale.jsonl';

/**
 * Writes what is made from figures. The given rows first replace the checked-in rows of the same suites and CPU.
 * @throws UsageError
 */
export function writeReport(rows: readonly (Row | FailedRow)[] | undefined): void {
  if (rows !== undefined) {
    const file = path.join(root, results);
    mkdirSync(path.dirname(file), { recursive: true });
    const all = withNewRows(existsSync(file) ? readRows(file) : [], rows);
    writeFileSync(file, all.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
  for (const [file, text] of reportFiles()) writeFileSync(path.join(root, file), text);
}

/** Replaces the checked-in counts of groups of the same sizes, and writes what is made from all counts. */
export function writeCounts(rows: readonly ScaleRow[]): void {
  const sizes = new Set(rows.map(({ ranks }) => ranks));
  const all = [...scaleRows().filter(({ ranks }) => !sizes.has(ranks)), ...rows].sort((a, b) => a.ranks - b.ranks);
  writeFileSync(path.join(root, counted), all.map((row) => `${JSON.stringify(row)}\n`).join(''));
  writeReport(undefined);
}

function scaleRows(): ScaleRow[] {
  return linesOf<ScaleRow>(path.join(root, counted));
}

/** The files that are made from the checked-in figures, by their paths in the repository, with the text that they should have. */
export function reportFiles(): Map<string, string> {
  const rows = readRows(path.join(root, results));
  const counts = scaleRows();
  const pages = [
    ['docs/internals/benchmarks.md', docsSection(rows)],
    ['README.md', readmeSection(rows)],
    ['docs/internals/scale.md', scaleSection(counts)],
  ] as const;
  const main = mainRows(rows);
  const scaling = scalingChart(main);
  const charts = [...chartsOf(main), ...(scaling ? [scaling] : []), ...scaleCharts(counts)];
  const pictures = charts.map(({ file, svg }) => [`docs/figures/${file}`, svg] as const);
  return new Map([
    ...pages.map(
      ([file, section]) => [file, withSection(readFileSync(path.join(root, file), 'utf8'), section, file)] as const,
    ),
    ...pictures,
  ]);
}

/** The text with another section between its marks. @throws UsageError where it has none */
export function withSection(text: string, section: string, name: string): string {
  const [begin, end] = ['<!-- figures -->', '<!-- /figures -->'].map((mark) => text.indexOf(mark)) as [number, number];
  if (begin < 0 || end < begin)
    throw new UsageError(`${name} has no place for figures: <!-- figures --> and <!-- /figures -->`);
  return `${text.slice(0, begin)}<!-- figures -->\n\n${section}\n\n${text.slice(end)}`;
}

/** The rows of a file of JSON lines; other lines are left out. @throws UsageError where it cannot be read */
export function readRows(file: string): (Row | FailedRow)[] {
  return linesOf(file);
}

function linesOf<Line>(file: string): Line[] {
  if (!existsSync(file)) throw new UsageError(`there is no file ${file}`);
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line);
}

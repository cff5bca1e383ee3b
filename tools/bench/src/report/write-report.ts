import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ScaleRow } from '../scale/count.js';
import { scaleCharts, scaleSection } from '../scale/scale-section.js';
import { UsageError } from '../usage-error.js';
import { chartsOf, scalingChart } from './charts.js';
import { docsSection } from './docs-section.js';
import { reportOf } from './figures.js';
import { readmeSection } from './readme-section.js';
import { formatResults, parseResults, withNewRows } from './results.js';
import type { FailedRow, Row } from './row.js';

const root = path.resolve(import.meta.dirname, '../../../..');
const results = path.join(root, 'docs/figures/results.jsonl');
const counted = path.join(root, 'docs/figures/scale.jsonl');

/**
 * Writes the pages and pictures that are made from figures. The given rows first replace the checked-in rows of the same suites
 * and CPU.
 */
export function writeReport(rows: readonly (Row | FailedRow)[]): void {
  writeFileSync(results, formatResults(withNewRows(parseResults(readText(results)), rows)));
  for (const [file, text] of reportFiles()) writeFileSync(path.join(root, file), text);
}

/** Replaces the checked-in counts of groups of the same sizes, and writes what is made from all counts. */
export function writeCounts(rows: readonly ScaleRow[]): void {
  const sizes = new Set(rows.map(({ ranks }) => ranks));
  const kept = readLines<ScaleRow>(counted).filter(({ ranks }) => !sizes.has(ranks));
  const all = [...kept, ...rows].sort((a, b) => a.ranks - b.ranks);
  writeFileSync(counted, all.map((row) => `${JSON.stringify(row)}\n`).join(''));
  writeReport([]);
}

/** The files that are made from the checked-in figures, by their paths in the repository, with their texts. */
export function reportFiles(): Map<string, string> {
  const rows = parseResults(readText(results));
  const counts = readLines<ScaleRow>(counted);
  const { main } = reportOf(rows);
  const pages = [
    ['docs/internals/benchmarks.md', docsSection(rows)],
    ['README.md', readmeSection(rows)],
    ['docs/internals/scale.md', scaleSection(counts)],
  ] as const;
  const charts = [...chartsOf(main), ...[scalingChart(main) ?? []].flat(), ...scaleCharts(counts)];
  return new Map([
    ...pages.map(([file, section]) => [file, withSection(readText(path.join(root, file)), section, file)] as const),
    ...charts.map(({ file, svg }) => [`docs/figures/${file}`, svg] as const),
  ]);
}

/** The text with another section between its marks. @throws UsageError if there are no marks */
export function withSection(text: string, section: string, name: string): string {
  const [begin, end] = ['<!-- figures -->', '<!-- /figures -->'].map((mark) => text.indexOf(mark)) as [number, number];
  if (begin < 0 || end < begin)
    throw new UsageError(`${name} has no place for figures: <!-- figures --> and <!-- /figures -->`);
  return `${text.slice(0, begin)}<!-- figures -->\n\n${section}\n\n${text.slice(end)}`;
}

/** The values of a file of JSON lines. Other lines are left out. @throws UsageError if there is no such file */
export function readLines<Line>(file: string): Line[] {
  const lines = readText(file).split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line);
}

function readText(file: string): string {
  if (!existsSync(file)) throw new UsageError(`there is no file ${file}`);
  return readFileSync(file, 'utf8');
}

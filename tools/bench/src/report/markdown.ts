import { formatBytes } from '../sizes.js';
import { formatMicros, threeDigits } from './numbers.js';
import { type FailedRow, isMeasured, playerOf, type Row } from './row.js';

/** Tables of medians, a line a case and a column a size, under a line that says where they come from. */
export function markdownOf(rows: readonly (Row | FailedRow)[], rounds: number): string {
  const groups = groupBy(rows, ({ suite, ranks, gradients }) =>
    [suite, `${ranks} ranks`, gradients].filter(Boolean).join(', '),
  );
  const tables = [...groups].map(([title, group]) => `### ${title}\n\n${tableOf(group)}\n`);
  return [originOf(rows.filter(isMeasured), rounds), ...tables].join('\n');
}

function originOf(rows: readonly Row[], rounds: number): string {
  const [first] = rows;
  if (!first) return 'Nothing was measured.\n';
  const samples = rows.map((row) => row.samples);
  const spreads = rows.map((row) => row.p95Micros / row.medianMicros).sort((a, b) => a - b);
  const load = Math.max(...rows.map((row) => row.foreignLoad ?? 0));
  return [
    `${first.cpu}, ${first.cpus} cores, Node ${first.node}, ${first.date.slice(0, 10)}. Medians of`,
    `${Math.min(...samples)} to ${Math.max(...samples)} samples in ${rounds} rounds. For half of the cases 95 % of the samples are within`,
    `${threeDigits(spreads[Math.floor(spreads.length / 2)] as number)} times the median, for the worst ${threeDigits(spreads.at(-1) as number)}.`,
    `Other programs took up to ${threeDigits(load * 100)} % of the machine.\n`,
  ].join('\n');
}

function tableOf(rows: readonly (Row | FailedRow)[]): string {
  const sizes = [...new Set(rows.map(({ bytes }) => bytes))].sort((a, b) => a - b);
  const cellsOf = (cases: readonly (Row | FailedRow)[], microsOf: (row: Row) => number) =>
    sizes.map((bytes) => {
      const row = cases.find((candidate) => candidate.bytes === bytes);
      if (!row) return '';
      return isMeasured(row) ? formatMicros(microsOf(row)) : row.failure;
    });
  const lines = [...groupBy(rows, (row) => `${row.case} ${playerOf(row)}`).values()].map((cases) => {
    const [first] = cases as [Row | FailedRow];
    return [first.case, playerOf(first), ...cellsOf(cases, (row) => row.medianMicros)];
  });
  const table = [
    ['case', 'engine', ...sizes.map(formatBytes)],
    ['---', '---', ...sizes.map(() => '---:')],
    ...lines,
    ['plain copy', '', ...cellsOf(rows.filter(isMeasured), (row) => row.copyMicros)],
  ];
  return table.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function groupBy<Line>(rows: readonly Line[], keyOf: (row: Line) => string): Map<string, Line[]> {
  const groups = new Map<string, Line[]>();
  for (const row of rows) {
    const key = keyOf(row);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return groups;
}

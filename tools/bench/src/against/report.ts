import { formatMicros } from '../report/cells.js';
import type { CaseRow } from '../report/row.js';
import { type Column, tableOf } from '../report/table.js';
import { formatBytes } from '../sizes.js';
import { executorOf } from '../trial.js';
import { type Change, type Comparison, groupOf, isDifferent, type RowGroup, sizeOf } from './comparison.js';

/** A case at one size in both builds; one line of JSON. */
export type ComparedRow = CaseRow & (Comparison | { readonly failure: string });
type MeasuredRow = CaseRow & Comparison;

const statistics = ['median', 'mean'] as const;
type Statistic = (typeof statistics)[number];

/** The rows of one suite and size. */
interface RowsOfGroup {
  readonly suite: string;
  readonly bytes: number;
  readonly rows: readonly MeasuredRow[];
  readonly groups: Readonly<Record<Statistic, RowGroup>>;
}

/**
 * Tables for the terminal: the geometric mean of each suite and size, then the rows that differ by
 * more than series of the same build do, then the cases that failed.
 */
export function comparisonTables(rows: readonly ComparedRow[], commit: string): string {
  const groups = groupsOf(rows);
  const failed = rows.flatMap((row) => ('failure' in row ? [`${nameOf(row)}: ${row.failure}`] : []));
  return [
    `Time of this checkout divided by the time of ${commit}; in parentheses, the same between series of the same build.`,
    tableOf(columns, groups, 'terminal'),
    ...statistics.map((statistic) => differencesOf(groups, statistic)),
    ...failed,
  ].join('\n');
}

function groupsOf(rows: readonly ComparedRow[]): RowsOfGroup[] {
  const measured = rows.filter((row): row is MeasuredRow => !('failure' in row));
  const keys = new Set(measured.map(({ suite, bytes }) => `${suite} ${bytes}`));
  return [...keys].map((key) => {
    const own = measured.filter(({ suite, bytes }) => `${suite} ${bytes}` === key);
    const { suite, bytes } = own[0] as MeasuredRow;
    return {
      suite,
      bytes,
      rows: own,
      groups: { median: groupOf(own.map(({ median }) => median)), mean: groupOf(own.map(({ mean }) => mean)) },
    };
  });
}

/** The geometric mean of the ratios of a group and, in parentheses, of the ratios between series of the same build. */
function meanColumn(title: string, statistic: Statistic): Column<RowsOfGroup> {
  return {
    title,
    cellOf: ({ groups }) => `${groups[statistic].ratio.toFixed(3)} (${groups[statistic].noise.toFixed(3)})`,
  };
}

const columns: readonly Column<RowsOfGroup>[] = [
  { title: 'suite', cellOf: ({ suite }) => suite, isLeft: true },
  { title: 'size', cellOf: ({ bytes }) => formatBytes(bytes) },
  { title: 'rows', cellOf: ({ rows }) => String(rows.length) },
  meanColumn('medians', 'median'),
  meanColumn('means', 'mean'),
  {
    title: 'rows that differ',
    cellOf: (group) => statistics.map((statistic) => differingRows(group, statistic).length).join(', '),
  },
];

function differingRows({ rows, groups }: RowsOfGroup, statistic: Statistic): MeasuredRow[] {
  return rows
    .filter((row) => isDifferent(row[statistic], groups[statistic]))
    .sort((a, b) => sizeOf(b[statistic].ratio) - sizeOf(a[statistic].ratio));
}

function differencesOf(groups: readonly RowsOfGroup[], statistic: Statistic): string {
  const lines = groups.flatMap((group) => {
    const limit = group.groups[statistic].mostNoise.toFixed(2);
    return differingRows(group, statistic).map(
      (row) => `  ${nameOf(row)}: ${wordsOf(row[statistic])} (limit ${limit})`,
    );
  });
  if (lines.length === 0) return `No row differs by its ${statistic} more than series of the same build do.`;
  return [`Rows that differ by their ${statistic} more than series of the same build do:`, ...lines].join('\n');
}

function wordsOf({ beforeMicros, afterMicros, ratio }: Change): string {
  return `${formatMicros(beforeMicros)} -> ${formatMicros(afterMicros)}, ${ratio.toFixed(2)} times`;
}

function nameOf(row: CaseRow): string {
  return `${row.suite}, ${row.case}, ${executorOf(row)}, ${row.ranks} ranks, ${formatBytes(row.bytes)}`;
}

import Table from 'cli-table3';

/** A column of a table. */
export interface Column<Line> {
  readonly title: string;
  /** The text of the cell in this column; empty if there is nothing to show. */
  readonly cellOf: (line: Line) => string;
  /** Words are aligned to the left, numbers to the right. Default: right. */
  readonly isLeft?: boolean;
}

/** A table for the terminal or in Markdown. Columns without text in any line are left out. */
export function tableOf<Line>(
  columns: readonly Column<Line>[],
  lines: readonly Line[],
  format: 'terminal' | 'markdown' = 'markdown',
): string {
  const shown = columns.filter(({ cellOf }) => lines.some((line) => cellOf(line) !== ''));
  const head = shown.map(({ title }) => title);
  const cells = lines.map((line) => shown.map(({ cellOf }) => cellOf(line)));
  if (format === 'markdown') {
    const rule = shown.map(({ isLeft }) => (isLeft ? '---' : '---:'));
    return [head, rule, ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
  }
  const colAligns = shown.map(({ isLeft }) => (isLeft ? 'left' : 'right'));
  const table = new Table({ head, colAligns, style: { head: [], border: [], compact: true } });
  table.push(...cells);
  return table.toString();
}

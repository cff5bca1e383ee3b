/** A Markdown table. The first `leftColumns` columns are aligned to the left, and the others to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[], leftColumns = 1): string {
  const rule = head.map((_, index) => (index < leftColumns ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

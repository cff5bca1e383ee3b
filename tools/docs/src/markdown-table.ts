/** A table of Markdown: its first columns to the left, as many as are said, the others to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[], leftColumns = 1): string {
  const rule = head.map((_, index) => (index < leftColumns ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

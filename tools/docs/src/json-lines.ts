import { readFileSync, writeFileSync } from 'node:fs';

const file = (name: string): URL => new URL(`../../../docs/figures/${name}.jsonl`, import.meta.url);

/** Reads the rows of a file of figures. */
export function readRows<Row>(name: string): Row[] {
  const lines = readFileSync(file(name), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Row);
}

/** Replaces a file of figures. */
export function writeRows(name: string, rows: readonly unknown[]): void {
  writeFileSync(file(name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

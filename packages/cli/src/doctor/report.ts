import { styleText } from 'node:util';
import { type Line, type Verdict, worstOf } from './line.js';

/** What `coll doctor --json` prints. */
export interface Report {
  /** The worst verdict of the lines. */
  readonly verdict: Verdict;
  readonly lines: readonly Line[];
}

export function reportOf(lines: readonly Line[]): Report {
  return { verdict: worstOf(lines), lines };
}

/** Broken lines, and with `isStrict` slow ones, count as failures. */
export function exitCodeOf({ verdict }: Report, isStrict: boolean): number {
  if (verdict === 'broken') return 2;
  return verdict === 'slow' && isStrict ? 1 : 0;
}

const colours = { ok: 'green', slow: 'yellow', broken: 'red' } as const;
const nameWidth = 15;
const verdictWidth = 8;

/** The report for programs, whose fields are always in the same order. */
export function jsonOf({ verdict, lines }: Report): string {
  const ordered = lines.map((line) => {
    const cure = 'cure' in line ? line.cure : undefined;
    return { name: line.name, verdict: line.verdict, text: line.text, cure, data: line.data };
  });
  return JSON.stringify({ verdict, lines: ordered }, undefined, 2);
}

/** The report for people: one line per fact, and one for each cure. */
export function textOf({ lines }: Report, isColoured: boolean): string {
  const count = (verdict: Verdict) => lines.filter((line) => line.verdict === verdict).length;
  const [broken, slow] = [count('broken'), count('slow')];
  const found = [broken > 0 && `${broken} broken`, slow > 0 && `${slow} slow`].filter(Boolean).join(', ');
  return [...lines.map((line) => lineText(line, isColoured)), '', found || 'nothing is broken or slow'].join('\n');
}

function lineText(line: Line, isColoured: boolean): string {
  const { verdict, name, text } = line;
  const paint = (what: string) =>
    isColoured && verdict ? styleText(colours[verdict], what, { validateStream: false }) : what;
  const first = `${paint((verdict ?? '').padEnd(verdictWidth))}${name.padEnd(nameWidth)}${text}`;
  return 'cure' in line ? `${first}\n${' '.repeat(verdictWidth + nameWidth)}cure: ${line.cure}` : first;
}

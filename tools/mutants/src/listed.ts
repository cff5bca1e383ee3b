import type { Mutant } from './mutants.ts';

/**
 * A mutant without any effect that a test could detect, and the reason. It is identified by its text, so
 * that it may move within its file.
 */
export interface Listed {
  readonly file: string;
  /** The first line of the mutated code, without indentation. */
  readonly line: string;
  readonly original: string;
  readonly replacement: string;
  readonly reason: string;
}

const longest = 100;

/** Code shortened to one line, for the output and the list. */
export function short(code: string): string {
  const line = code.replace(/\s+/g, ' ');
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}

/** The line of `content` on which the mutant begins. */
export function lineOf(mutant: Mutant, content: string): string {
  return (content.split('\n')[mutant.location.start.line] ?? '').trim();
}

export function findListed(list: readonly Listed[], mutant: Mutant, content: string): Listed | undefined {
  return list.find(
    ({ file, line, original, replacement }) =>
      file === mutant.file &&
      line === lineOf(mutant, content) &&
      original === short(mutant.original) &&
      replacement === short(mutant.replacement),
  );
}

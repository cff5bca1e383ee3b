import type { Mutant } from './mutants.ts';

/** A mutant that changes nothing a test could see, and why. It is known by its text, wherever its file moves it. */
export interface Listed {
  readonly file: string;
  /** The line on which it begins, without the spaces around it. */
  readonly line: string;
  readonly original: string;
  readonly replacement: string;
  readonly reason: string;
}

const longest = 100;

/** Code on one line, shortened, as it is printed and listed. */
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

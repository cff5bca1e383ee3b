/** One command of a shell block, as words. */
export interface ShellCommand {
  readonly line: number;
  readonly words: readonly string[];
}

/**
 * The commands in lines of a shell, without comments, assignments and redirections. A command that
 * continues on the next line is one command.
 */
export function commandsIn(lines: readonly string[]): readonly ShellCommand[] {
  const commands: ShellCommand[] = [];
  let begun = '';
  lines.forEach((line, index) => {
    if (line.endsWith('\\')) {
      begun += `${line.slice(0, -1)} `;
      return;
    }
    for (const words of commandsOf(begun + line)) commands.push({ line: index, words });
    begun = '';
  });
  return commands;
}

function commandsOf(line: string): readonly (readonly string[])[] {
  const tokens = line.match(/(?:"(?:\\.|[^"])*"|'[^']*'|\\.|[^\s"'\\;&|])+|[;&|]+/g) ?? [];
  const commands: string[][] = [[]];
  for (const token of tokens) {
    if (token.startsWith('#')) break;
    if (/^[;&|]/.test(token)) commands.push([]);
    else commands.at(-1)?.push(token);
  }
  return commands.map(withoutAssignments).filter((words) => words.length > 0);
}

function withoutAssignments(words: readonly string[]): readonly string[] {
  const begin = words.findIndex((word) => !/^[A-Z_a-z]\w*=|^export$/.test(word));
  const end = words.findIndex((word) => /^\d?[<>]/.test(word));
  return begin < 0 ? [] : words.slice(begin, end < 0 ? undefined : end);
}

/** The words of a command after these names; undefined if the command lacks them. */
export function after(words: readonly string[], ...names: readonly string[]): readonly string[] | undefined {
  const at = words.findIndex((_, index) => names.every((name, offset) => words[index + offset] === name));
  return at < 0 ? undefined : words.slice(at + names.length);
}

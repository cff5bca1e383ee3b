import ts from 'typescript';

/** Tests and what only they use are not counted, nor are declarations without code. */
const isUncounted = /\.(test|test-d|d)\.ts$|\/(test|fixtures|doubles)\/|^packages\/core\/src\/(testing|portable)\//;

const languages = { TypeScript: linesOfTypeScript, 'C++': linesOfCpp, Python: linesOfPython };

export type Language = keyof typeof languages;

/** The files that are counted. */
const counted: readonly (readonly [pattern: RegExp, language: Language])[] = [
  [/^((packages|native)\/[^/]+)\/src\/.*\.ts$/, 'TypeScript'],
  [/^(native\/[^/]+)\/cpp\/.*\.(cc|cpp|cu|h)$/, 'C++'],
  [/^(tools)\/.*\.(ts|mjs|cjs|js)$/, 'TypeScript'],
  [/^(tools)\/.*\.(c|cc|h)$/, 'C++'],
  [/^(tools)\/.*\.(py|sh)$/, 'Python'],
];

/** The area and the language of a file; undefined if it is not counted. The areas are `tools` and the folders of packages and addons. */
export function areaOf(file: string): { readonly area: string; readonly language: Language } | undefined {
  if (isUncounted.test(file)) return undefined;
  for (const [pattern, language] of counted) {
    const [, area] = pattern.exec(file) ?? [];
    if (area !== undefined) return { area, language };
  }
  return undefined;
}

/** The number of lines that hold something besides blanks and comments. */
export function countLines(text: string, language: Language): number {
  return languages[language](text);
}

function linesOfTypeScript(text: string): number {
  const source = ts.createSourceFile('counted.ts', text, ts.ScriptTarget.Latest, true);
  const lines = new Set<number>();
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    children.forEach(visit);
    const [start, end] = [node.getStart(source), node.getEnd()];
    if (children.length > 0 || end === start) return;
    const { line: last } = source.getLineAndCharacterOfPosition(end);
    for (let { line } = source.getLineAndCharacterOfPosition(start); line <= last; line++) lines.add(line);
  };
  visit(source);
  return lines.size;
}

/** Comment signs inside quotes are text. */
function linesOfCpp(text: string): number {
  const quoted = /R"([^(\s]*)\([\s\S]*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'/;
  const comment = /\/\/[^\n]*|\/\*[\s\S]*?\*\//;
  const code = text.replace(
    new RegExp(`(${quoted.source})|${comment.source}`, 'g'),
    (found: string, inQuotes: string | undefined) => (inQuotes === undefined ? found.replace(/[^\n]/g, ' ') : found),
  );
  return filledLines(code);
}

/** Also for shell scripts. Docstrings count as code. */
function linesOfPython(text: string): number {
  return filledLines(text.replace(/^\s*#.*/gm, ''));
}

function filledLines(code: string): number {
  return code.split('\n').filter((line) => /\S/.test(line)).length;
}

/**
 * Compares the lines of each area with the most that it may have.
 * @param file the file of the ceilings, for the messages
 * @returns messages that say what to do
 */
export function ceilingFaults(
  counts: Readonly<Record<string, number>>,
  ceilings: Readonly<Record<string, number>>,
  file: string,
): string[] {
  const above = Object.entries(counts).flatMap(([area, lines]) => {
    const ceiling = ceilings[area];
    if (ceiling === undefined)
      return [`${area} has no ceiling: add "${area}": ${Math.ceil(lines / 20) * 20} to ${file}`];
    if (lines <= ceiling) return [];
    return [
      `${area} has ${lines} lines of code, more than its ceiling of ${ceiling}: remove code, or raise the ceiling in ${file} and give the reason in the commit message`,
    ];
  });
  const gone = Object.keys(ceilings).filter((area) => counts[area] === undefined);
  return [...above, ...gone.map((area) => `${area} has a ceiling, but no code: remove it from ${file}`)];
}

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { repository } from '../markdown-files.ts';

/** The languages of code blocks, by the file extensions that differ from them. */
const languages: Readonly<Record<string, string>> = { mjs: 'js', mts: 'ts', py: 'python', yml: 'yaml' };

/**
 * The page with current embedded files. A file is embedded between `<!-- file: its/path -->` and `<!-- end
 * -->`; `<!-- file: its/path#name -->` embeds the part between `// #region name` and `// #endregion`,
 * without its indentation. `<!-- diff: its/path another/path -->` embeds what the second file changes in
 * the first one.
 */
export function embedFiles(page: string): string {
  const parts = page.split(/^(<!-- (?:file: \S+|diff: \S+ \S+) -->)$/m);
  const [head = '', ...rest] = parts;
  const shown = rest.map((part, index) => {
    if (index % 2 === 0) return part;
    const begin = rest[index - 1] as string;
    const end = part.search(/^<!-- end -->$/m);
    if (end < 0) throw new Error(`${begin} has no <!-- end -->`);
    const [, from, to] = /^<!-- diff: (\S+) (\S+) -->$/.exec(begin) ?? [];
    if (from && to) return `\n\n\`\`\`diff\n${differenceOf(from, to)}\`\`\`\n\n${part.slice(end)}`;
    const [, file = '', region] = /^<!-- file: ([^\s#]+)(?:#(\S+))? -->$/.exec(begin) ?? [];
    return `\n\n\`\`\`${languageOf(file)}\n${textOf(file, region)}\`\`\`\n\n${part.slice(end)}`;
  });
  return head + shown.join('');
}

function languageOf(file: string): string {
  const ending = path.extname(file).slice(1) || path.basename(file).toLowerCase();
  return languages[ending] ?? ending;
}

function textOf(file: string, region: string | undefined): string {
  const lines = readFileSync(path.join(repository, file), 'utf8').trimEnd().split('\n');
  const isMark = (line: string) => /^\s*(\/\/|#) #(region|endregion)\b/.test(line);
  const shown = region === undefined ? lines : regionOf(lines, region, file);
  return `${shown.filter((line) => !isMark(line)).join('\n')}\n`;
}

/** The changed lines with one line around them; `…` stands for lines that are equal. */
function differenceOf(from: string, to: string): string {
  const args = ['diff', '--no-index', '--no-color', '--no-ext-diff', '-U1', '--', from, to];
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: repository, encoding: 'utf8' });
  if (status !== 1) throw new Error(`git finds no difference between ${from} and ${to}: ${stderr}`);
  const lines = stdout.trimEnd().split('\n');
  const shown = lines.slice(lines.findIndex((line) => line.startsWith('@@')));
  return `${shown.map((line) => (line.startsWith('@@') ? ' …' : line)).join('\n')}\n`;
}

function regionOf(lines: readonly string[], region: string, file: string): readonly string[] {
  const begins = lines.flatMap((line, index) => (/ #region (\S+)\s*$/.exec(line)?.[1] === region ? [index] : []));
  if (begins.length !== 1) throw new Error(`${file} must have one region ${region}, has ${begins.length}`);
  const [begin = 0] = begins;
  const length = lines.slice(begin + 1).findIndex((line) => / #endregion\b/.test(line));
  if (length < 0) throw new Error(`region ${region} of ${file} has no #endregion`);
  const inside = lines.slice(begin + 1, begin + 1 + length);
  const indentations = inside.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  return inside.map((line) => line.slice(Math.min(...indentations)));
}

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { areaOf, ceilingFaults, countLines } from './count-lines.ts';

const usage = `Usage: npm run -s lines -- [--check] [commits]

Prints the lines of code, without tests, comments and blank lines, of each package, each native addon and the tools: in the
working tree beside their ceilings, or at the given commits. The product is everything but the tools and @coll/testing.

  --check   prints only areas above their ceiling or without one, and fails if there are any
  --help    prints this text

The ceilings are in tools/house/ceilings.json.
`;

const root = path.resolve(import.meta.dirname, '../..');
const ceilingsFile = 'tools/house/ceilings.json';

/** A file's name in the repository, and its text. */
type SourceFile = readonly [name: string, text: string];

function git(args: readonly string[], input = ''): Buffer {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, input, maxBuffer: 2 ** 30 });
  if (status === 0) return stdout;
  console.error(stderr.toString().trim());
  process.exit(1);
}

function filesOfWorkingTree(): SourceFile[] {
  const listed = git(['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate']).toString();
  const names = listed.split('\n').filter((name) => areaOf(name) && existsSync(path.join(root, name)));
  return names.map((name) => [name, readFileSync(path.join(root, name), 'utf8')]);
}

function filesOfCommit(commit: string): SourceFile[] {
  const names = git(['ls-tree', '-r', '--name-only', commit]).toString().split('\n').filter(areaOf);
  const batch = git(['cat-file', '--batch'], names.map((name) => `${commit}:${name}\n`).join(''));
  let at = 0;
  return names.map((name) => {
    const head = batch.indexOf('\n', at);
    const size = Number(batch.subarray(at, head).toString().split(' ')[2]);
    at = head + 1 + size + 1;
    return [name, batch.subarray(head + 1, head + 1 + size).toString()];
  });
}

/** Lines by area, and in the product by language. */
function countsOf(files: readonly SourceFile[]) {
  const areas: Record<string, number> = {};
  const product: Record<string, number> = {};
  const add = (sums: Record<string, number>, name: string, lines: number) => {
    sums[name] = (sums[name] ?? 0) + lines;
  };
  for (const [name, text] of files) {
    const found = areaOf(name);
    if (!found) continue;
    const { area, language } = found;
    const lines = countLines(text, language);
    add(areas, area, lines);
    if (area !== 'tools' && area !== 'packages/testing') add(product, `product, ${language}`, lines);
  }
  return { areas: Object.fromEntries(Object.entries(areas).sort()), product };
}

function printTable(columns: readonly (readonly [name: string, lines: Readonly<Record<string, number>>])[]): void {
  const rows: Record<string, Record<string, number>> = {};
  for (const [column, counts] of columns)
    for (const [row, lines] of Object.entries(counts)) rows[row] = { ...rows[row], [column]: lines };
  console.table(rows);
}

const { values, positionals: commits } = parseArgs({
  options: { check: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const ceilings = JSON.parse(readFileSync(path.join(root, ceilingsFile), 'utf8')) as Record<string, number>;
if (values.help) {
  process.stdout.write(usage);
} else if (values.check) {
  const faults = ceilingFaults(countsOf(filesOfWorkingTree()).areas, ceilings, ceilingsFile);
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length > 0 ? 1 : 0;
} else if (commits.length > 0) {
  printTable(
    commits.map((commit) => {
      const { areas, product } = countsOf(filesOfCommit(commit));
      return [commit, { ...areas, ...product }];
    }),
  );
} else {
  const { areas, product } = countsOf(filesOfWorkingTree());
  printTable([
    ['lines', { ...areas, ...product }],
    ['ceiling', ceilings],
  ]);
}

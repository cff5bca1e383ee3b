import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { findListed, type Listed, lineOf, short } from './listed.ts';
import { applied, draw, type Mutant, marked, mutantsOf, type Source } from './mutants.ts';
import { Workplace } from './workplace.ts';

const root = path.resolve(import.meta.dirname, '../../..');

const usage = `npm run mutants -- --package core --sample 200 --seed 1

Changes one place of a package's sources at a time and runs the tests that reach it. A mutant is killed if a test fails or
runs into an endless loop, and survives otherwise; survivors are printed. Ends with 1 if fewer than --at-least are killed.

  --package NAME      a folder of packages/
  --sample N          mutants to draw from all of the package; default: 200
  --seed N            which ones; default: 1
  --tests PATH        test files by a part of their path, may be given again; default: packages/NAME/. Those of
                      npm test; with COLL_TESTS=rest in the environment, those of npm run test:rest
  --sources TEXT      draw from source files whose path contains TEXT
  --at-least PERCENT  default: 85
  --concurrency N     mutants at a time; default: 2`;

const { values } = parseArgs({
  options: {
    package: { type: 'string' },
    sample: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    tests: { type: 'string', multiple: true },
    sources: { type: 'string', default: '' },
    'at-least': { type: 'string', default: '85' },
    concurrency: { type: 'string', default: '2' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help || values.package === undefined) {
  console.log(usage);
  process.exit(values.help ? 0 : 2);
}

// Use the tests of `npm test`, which draw the same part of their grids in every run.
process.env['COLL_TESTS'] ??= 'core';
process.env['COLL_TEST_SEED'] ??= values.seed;

const folder = `packages/${values.package}`;
const begun = performance.now();
const log = (text: string) =>
  console.error(`${((performance.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${text}`);

const files = git('ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate');
const sources: Source[] = files
  .filter((file) => file.startsWith(`${folder}/src/`) && /(?<!\.test|\.test-d|\.d)\.ts$/.test(file))
  .filter((file) => file.includes(values.sources))
  .map((name) => ({ name, content: readFileSync(path.join(root, name), 'utf8') }));
const contents = new Map(sources.map(({ name, content }) => [name, content]));
const contentOf = ({ file }: Mutant) => contents.get(file) ?? '';

const list: Listed[] = JSON.parse(readFileSync(path.join(root, 'tools/mutants/listed.json'), 'utf8'));
const mutants = await mutantsOf(sources);
const sample = draw(mutants, numberOf('sample'), numberOf('seed'));
log(`${sample.length} of ${mutants.length} mutants, seed ${values.seed}`);

const workplaces = Array.from({ length: numberOf('concurrency') }, () => new Workplace(root, files));
process.once('exit', () => {
  for (const workplace of workplaces) workplace.remove();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

const tests = await timed(await testFiles());
report(await survivorsOf(sample));

/** Runs every test file once, to measure its time and the mutants that it reaches. */
async function timed(names: readonly string[]) {
  const known: { name: string; seconds: number; reaches: (mutant: Mutant) => boolean }[] = [];
  const run = async (name: string, workplace: Workplace, reaches: () => (mutant: Mutant) => boolean) => {
    const start = performance.now();
    const { outcome, output } = await workplace.test([name], 600);
    if (outcome !== 'passed') return output;
    known.push({ name, seconds: (performance.now() - start) / 1000, reaches: reaches() });
    return;
  };

  const { files: noting, ids } = await marked(sources, sample);
  for (const workplace of workplaces) for (const source of noting) workplace.writeNoting(source);
  const readers: string[] = [];
  await forEach(names, async (name, workplace) => {
    workplace.takeReached();
    const failure = await run(name, workplace, () => {
      const reached = workplace.takeReached();
      return (mutant) => reached.has(ids[sample.indexOf(mutant)] ?? '');
    });
    if (failure !== undefined) readers.push(name);
  });
  for (const workplace of workplaces) for (const source of sources) workplace.write(source);

  // Tests that read the sources as text fail on instrumented sources. They may detect any mutant.
  await forEach(readers, async (name, workplace) => {
    const failure = await run(name, workplace, () => () => true);
    if (failure !== undefined) console.log(`${name} is left out, since it fails without a mutant:\n${failure}`);
  });
  log(`${known.length} test files`);
  return known;
}

/** Runs all mutants, and prints each survivor at once. */
async function survivorsOf(all: readonly Mutant[]): Promise<{ listed: number; unlisted: number }> {
  const survivors = { listed: 0, unlisted: 0 };
  let done = 0;
  await forEach(all, async (mutant, workplace) => {
    const content = contentOf(mutant);
    // The test beside the source is the most likely to fail. Short tests are next.
    const isBeside = (name: string) => name.replace('.test.ts', '.ts') === mutant.file;
    const due = tests
      .filter(({ reaches }) => reaches(mutant))
      .sort((a, b) => Number(isBeside(b.name)) - Number(isBeside(a.name)) || a.seconds - b.seconds);
    const outcome = due.length > 0 ? await outcomeOf(mutant, due, workplace) : 'passed';
    if (++done % 20 === 0) log(`${done} of ${all.length}`);
    if (outcome !== 'passed') return;
    if (findListed(list, mutant, content) !== undefined) {
      survivors.listed++;
      return;
    }
    survivors.unlisted++;
    console.log(`${mutant.file}:${mutant.location.start.line + 1}${due.length > 0 ? '' : '  no test reaches it'}`);
    console.log(`    ${lineOf(mutant, content)}\n    ${short(mutant.original)}  ->  ${short(mutant.replacement)}`);
  });
  return survivors;
}

async function outcomeOf(mutant: Mutant, due: readonly { name: string; seconds: number }[], workplace: Workplace) {
  const content = contentOf(mutant);
  workplace.write({ name: mutant.file, content: applied(mutant, content) });
  const longest = Math.max(...due.map(({ seconds }) => seconds));
  const { outcome } = await workplace.test(
    due.map(({ name }) => name),
    20 + 5 * longest,
  );
  workplace.write({ name: mutant.file, content });
  return outcome;
}

function report(survivors: { listed: number; unlisted: number }): void {
  const obsolete = list.filter(
    (entry) => contents.has(entry.file) && !mutants.some((mutant) => findListed([entry], mutant, contentOf(mutant))),
  );
  for (const { file, line } of obsolete)
    console.log(`tools/mutants/listed.json: no mutant of ${file} matches: ${line}`);
  const killed = sample.length - survivors.listed - survivors.unlisted;
  const percent = (100 * killed) / sample.length;
  const counts = [
    `${killed} of ${sample.length} mutants of ${values.package} killed (${percent.toFixed(1)} %), seed ${values.seed}`,
    `${survivors.unlisted} survived`,
    `${survivors.listed} listed as changing nothing`,
  ];
  console.log(counts.join('; '));
  process.exitCode = percent >= numberOf('at-least') && obsolete.length === 0 ? 0 : 1;
}

async function testFiles(): Promise<string[]> {
  const names = await (workplaces[0] as Workplace).testFiles();
  const parts = values.tests ?? [`${folder}/`];
  return names.filter((name) => parts.some((part) => name.includes(part)));
}

/** Gives each item to the next free workplace. */
async function forEach<T>(items: readonly T[], work: (item: T, workplace: Workplace) => Promise<void>): Promise<void> {
  const rest = items.values();
  await Promise.all(
    workplaces.map(async (workplace) => {
      for (const item of rest) await work(item, workplace);
    }),
  );
}

function numberOf(name: 'sample' | 'seed' | 'at-least' | 'concurrency'): number {
  const number = Number(values[name]);
  if (Number.isFinite(number) && number >= 0) return number;
  console.error(`--${name} must be a number, got ${values[name]}`);
  process.exit(2);
}

function git(...args: string[]): string[] {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
}

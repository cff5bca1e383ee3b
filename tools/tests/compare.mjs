// `node tools/tests/compare.mjs COMMIT`: every test case of that commit must be in `npm test` or `npm run test:rest`, or in
// contained.json beside the case that contains it. Lists cases without running them; the native addons must be built here, and the engine of that
// commit is built by this program, since the two may not fit together.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const [commit] = process.argv.slice(2);
if (commit === undefined) throw new Error('which commit to compare with? node tools/tests/compare.mjs COMMIT');

const temporary = mkdtempSync(path.join(tmpdir(), 'coll-cases-'));
const base = path.join(temporary, 'base');
const git = (...args) => execFileSync('git', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });

/** Lists the cases of `npm test` and of `npm run test:rest` in a checkout, each as `file > name`. Nothing runs, so all files may share threads. */
function casesIn(folder) {
  return ['core', 'rest'].map((mode) => casesOf(folder, mode));
}

function casesOf(folder, mode) {
  const file = path.join(temporary, 'cases.json');
  const list = ['node_modules/vitest/vitest.mjs', 'list', `--json=${file}`, '--pool=threads', '--no-isolate'];
  // Both checkouts draw the same cases.
  const env = { ...process.env, COLL_TESTS: mode, COLL_TEST_SEED: '0' };
  execFileSync(process.execPath, list, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const titles = JSON.parse(readFileSync(file, 'utf8')).map(
    (each) => `${path.relative(folder, each.file)} > ${each.name}`,
  );
  return new Set(titles.map((title) => title.replace(/\(seed \d+\)/, '(a seed)')));
}

/** The cases of the commit that are missing today, with the entries of contained.json. */
function missingFrom(today, before) {
  const { contained, renamed } = JSON.parse(readFileSync(path.join(import.meta.dirname, 'contained.json'), 'utf8'));
  const rules = contained.map((rule) => ({ ...rule, pattern: new RegExp(rule.cases) }));
  const names = renamed.map(({ from, to }) => ({ pattern: new RegExp(from), to }));
  const counts = new Map(rules.map((rule) => [rule, 0]));
  const missing = [];
  for (const title of before) {
    if (today.has(title) || names.some(({ pattern, to }) => today.has(title.replace(pattern, to)))) continue;
    const rule = rules.find(({ pattern }) => pattern.test(title));
    if (rule === undefined) missing.push(title);
    else counts.set(rule, counts.get(rule) + 1);
  }
  return { missing, counts };
}

try {
  git('worktree', 'add', '--detach', base, commit);
  for (const linked of ['node_modules', 'native/nccl/build']) {
    if (existsSync(path.join(root, linked))) symlinkSync(path.join(root, linked), path.join(base, linked));
  }
  execFileSync(process.execPath, ['native/engine/build.mjs'], { cwd: base, stdio: ['ignore', 'ignore', 'inherit'] });
  const before = new Set(casesIn(base).flatMap((cases) => [...cases]));
  const [core, rest] = casesIn(root);
  const { missing, counts } = missingFrom(new Set([...core, ...rest]), before);
  const both = [...core].filter((title) => rest.has(title)).length;
  console.log(
    `${commit}: ${before.size} cases; npm test: ${core.size}; npm run test:rest: ${rest.size}; in both: ${both}`,
  );
  for (const [{ by, why }, count] of counts) console.log(`${count} are contained in ${by}: ${why}`);
  for (const title of missing) console.log(`missing: ${title}`);
  process.exitCode = missing.length === 0 ? 0 : 1;
} finally {
  git('worktree', 'remove', '--force', base);
  rmSync(temporary, { recursive: true, force: true });
}

// Runs tests of processes and threads again and again, beside a busy loop on each core, and prints which failed:
// `npm run shake -- ROUNDS [FILE]...`. Default: all end-to-end tests that need no build. Exits with 1 if any test failed.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './run.mjs';

const { positionals } = parseArgs({ allowPositionals: true });
const [rounds, ...files] = positionals;
if (!(Number(rounds) >= 1)) {
  process.stderr.write(`npm run shake -- ROUNDS [FILE]...: ROUNDS must be a number from 1, got ${rounds}\n`);
  process.exit(2);
}

const folder = mkdtempSync(path.join(tmpdir(), 'coll-shake-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// Each ends with this process, even if a signal ends it.
const busyLoop = 'const parent = process.ppid; while (process.ppid === parent);';
for (let core = 0; core < availableParallelism(); core++)
  spawn(process.execPath, ['-e', busyLoop], { stdio: 'ignore' }).unref();

/** The tests of one round that failed, by name, with the first line of each error. */
function failuresOf(round) {
  const report = path.join(folder, `${round}.json`);
  const projects = files.length > 0 ? ['process', 'unit', 'alone'] : ['process'];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...projects.map((name) => `--project=${name}`)];
  const args = [...vitest, '--reporter=json', `--outputFile=${report}`, ...files];
  const { status, output } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  const found = new Map();
  const suites = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
  if (suites.length === 0) found.set('vitest', `no test file matches ${files.join(', ')}`);
  for (const { name, message, assertionResults } of suites) {
    const file = path.relative(root, name);
    if (message) found.set(file, message.split('\n')[0]);
    for (const { status, fullName, failureMessages } of assertionResults)
      if (status === 'failed') found.set(`${file} > ${fullName}`, failureMessages.join('\n').split('\n')[0]);
  }
  if (status !== 0 && found.size === 0) found.set('vitest', `ended with ${status}: ${output.join('').trim()}`);
  return found;
}

const counts = new Map();
for (let round = 1; round <= Number(rounds); round++) {
  const failures = failuresOf(round);
  console.log(`round ${round} of ${rounds}: ${failures.size === 0 ? 'passed' : `${failures.size} failed`}`);
  for (const [name, error] of failures) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    console.log(`  ${name}\n    ${error}`);
  }
}
for (const [name, count] of counts) console.log(`${count} of ${rounds} rounds failed: ${name}`);
process.exitCode = counts.size === 0 ? 0 : 1;

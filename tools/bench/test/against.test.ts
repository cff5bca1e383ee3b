import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { buildOfCommit } from '../src/against/commit-build.js';
import { compareBuilds, turnsToCompare } from '../src/against/compare-builds.js';
import { Series } from '../src/against/series.js';
import { type MeasureRequest, parseArguments } from '../src/arguments.js';
import { sessionsFor, settingsOf } from '../src/measure-cases.js';
import type { Session } from '../src/trial.js';
import { UsageError } from '../src/usage-error.js';

const ownBuild = path.dirname(fileURLToPath(new URL('../src/main.ts', import.meta.url)));
let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coll-bench-against-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  return execFileSync('git', [...identity, ...args], { cwd: root, encoding: 'utf8' }).trim();
}

/** Commits a package whose build script appends `text` to a file. */
function commitPackage(script: string): string {
  writeFileSync(path.join(root, 'package.json'), JSON.stringify({ private: true, scripts: { build: script } }));
  git('add', 'package.json');
  git('commit', '-q', '-m', script);
  return git('rev-parse', 'HEAD');
}

function writeProgram(text: string): void {
  const folder = path.join(root, 'tools/bench/dist');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'main.js'), text);
}

it('--against builds a commit once, and gives each build the measuring code of the checkout', () => {
  git('init', '-q');
  const commit = commitPackage("node -e \"fs.appendFileSync('built.txt', 'x')\"");
  commitPackage('exit 1');
  writeProgram('first');
  const folder = buildOfCommit(commit, root, () => {});
  expect(readFileSync(path.join(folder, 'main.js'), 'utf8')).toBe('first');
  writeProgram('second');
  expect(buildOfCommit(commit.slice(0, 9), root, () => {})).toBe(folder);
  expect(readFileSync(path.join(folder, 'main.js'), 'utf8')).toBe('second');
  expect(readFileSync(path.join(folder, '../../../built.txt'), 'utf8')).toBe('x');
});

it('--against refuses a commit that git does not know, and one whose build fails', () => {
  git('init', '-q');
  const commit = commitPackage('exit 7');
  expect(() => buildOfCommit('nope', root, () => {})).toThrow(
    new UsageError('--against must be a commit of this repository, got "nope"'),
  );
  expect(() => buildOfCommit(commit, root, () => {})).toThrow(`the build of ${commit} failed with exit code 7`);
  expect(existsSync(path.join(root, '.builds', commit.slice(0, 12), '.built'))).toBe(false);
});

function measureRequest(...args: string[]): MeasureRequest {
  const request = parseArguments(['--against', 'HEAD', '--quick', '--bytes', '4', '--engines', 'js', ...args]);
  if (request?.command === 'measure') return request;
  throw new Error('the arguments ask for a measurement');
}

it('a comparison leaves out other libraries and cases that only allocate', () => {
  const [session] = sessionsFor(measureRequest('--suite', 'ops'));
  const trials = (session as Session).pieces.flatMap(turnsToCompare).flatMap((turn) => turn.trials);
  const names = ['', ' of new memory', ' into a new result', ' of new memory into a new result'];
  expect(trials.map(({ name }) => name)).toEqual(
    ['reduce direct', 'batchReduce of 100 direct'].flatMap((call) => names.map((name) => `${call}${name}`)),
  );
});

it('both builds measure the same cases', async () => {
  const only = ['--suite', 'in-process', '--forms', 'controller', '--inputs', 'still', '--rounds', '2'];
  const request = measureRequest(...only);
  const settings = { ...settingsOf(request), onProgress: () => {} };
  const [session] = sessionsFor(request);
  const compared = [];
  const builds = { before: ownBuild, after: ownBuild };
  for await (const row of compareBuilds(session as Session, builds, settings)) compared.push(row);
  expect(compared.map(({ trial }) => trial.name)).toEqual(['direct still']);
  for (const { outcome } of compared) {
    if ('failure' in outcome) throw new Error(outcome.failure);
    for (const change of [outcome.median, outcome.mean]) {
      expect(change.beforeMicros).toBeGreaterThan(0);
      expect(change.ratio).toBeCloseTo(change.afterMicros / change.beforeMicros);
    }
  }
});

it('a build that cannot be loaded is named', async () => {
  const folder = path.join(root, 'against');
  mkdirSync(folder);
  writeFileSync(path.join(root, 'package.json'), '{ "type": "module" }');
  writeFileSync(path.join(folder, 'series-process.js'), 'process.exit(3);');
  const series = new Series('the build before', root, { ranks: 2, silenceSeconds: 10 });
  const effort = { ...settingsOf(measureRequest()).effort, checks: false };
  await expect(series.venue('main-thread').measure([], effort)).rejects.toThrow(
    'the process of the build before ended with exit code 3; its output is above',
  );
  await series.close();
});

it('--against refuses options that concern other libraries', () => {
  for (const option of [['--peers', 'openmpi'], ['--install-peers'], ['--markdown']])
    expect(() => parseArguments(['--against', 'HEAD', ...option])).toThrow(
      '--against compares two builds of coll: omit --markdown, --peers and --install-peers',
    );
});

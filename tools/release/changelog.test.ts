import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const changesets = (folder: string) =>
  readdirSync(path.join(folder, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md');
const manifests = () =>
  execFileSync('git', ['ls-files', '*package.json'], { cwd: root, encoding: 'utf8' }).trim().split('\n');

it('the changelog begins with the version of all packages, which the next release publishes', () => {
  const [, latest] = /^## (\S+)$/m.exec(readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8')) ?? [];
  const versions = manifests()
    .map((file) => JSON.parse(readFileSync(path.join(root, file), 'utf8')))
    .filter((manifest) => !manifest.private)
    .map((manifest) => manifest.version);
  expect(new Set(versions)).toEqual(new Set([latest]));
});

it('changesets yield one version for all packages, with a changelog for each package that they name', () => {
  const copy = mkdtempSync(path.join(tmpdir(), 'coll-version-'));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  for (const part of ['.changeset', 'package-lock.json', ...manifests()])
    cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
  // A release removes all changesets, so the test adds one.
  writeFileSync(path.join(copy, '.changeset/one-more.md'), '---\n"@coll/core": patch\n---\n\nOne more change.\n');
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: copy, stdio: 'pipe' });
  run('git', 'init', '--quiet');
  run('git', 'add', '--all');
  run('git', '-c', 'user.name=test', '-c', 'user.email=test@coll.example', 'commit', '--quiet', '--message=all');

  const waiting = changesets(copy).map((name) => readFileSync(path.join(copy, '.changeset', name), 'utf8'));
  run(process.execPath, path.join(root, 'node_modules/@changesets/cli/bin.js'), 'version');

  expect(changesets(copy)).toEqual([]);
  const published = manifests()
    .map((file) => ({ file, manifest: JSON.parse(readFileSync(path.join(copy, file), 'utf8')) }))
    .filter(({ manifest }) => !manifest.private);
  expect(new Set(published.map(({ manifest }) => manifest.version)).size).toBe(1);
  for (const { file, manifest } of published) {
    const named = waiting.filter((text) => text.includes(`"${manifest.name}"`));
    if (named.length === 0) continue;
    const summaries = named.map((text) => text.split('---\n')[2]?.trim() ?? '');
    const changelog = readFileSync(path.join(copy, path.dirname(file), 'CHANGELOG.md'), 'utf8');
    expect(changelog).toContain(`## ${manifest.version}`);
    for (const summary of summaries) expect(changelog).toContain(summary.split('\n')[0]);
  }
});

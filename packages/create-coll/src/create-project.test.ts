import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProject } from './create-project.js';
import { type Kind, kinds } from './kinds.js';

const examples = path.join(import.meta.dirname, '../../../examples');
let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'create-coll-'));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

function create(kind: Kind, name: string): string {
  const templates = path.join(scratch, 'templates');
  mkdirSync(templates);
  for (const program of Object.keys(kind.programs)) writeFileSync(path.join(templates, program), '');
  const folder = path.join(scratch, name);
  createProject({ kind, folder, templates, version: '1.2.3', home: 'https://coll.example' });
  return folder;
}

describe.each(Object.entries(kinds))('the project %s', (_name, kind) => {
  it('depends on every package that its programs import, and on no other package of coll', () => {
    const texts = Object.values(kind.programs).map((file) => readFileSync(path.join(examples, file), 'utf8'));
    const imported = texts.flatMap((text) =>
      [...text.matchAll(/(?:from|import) '((?:@[\w-]+\/)?[\w-]+)/g)]
        .map(([, name]) => name as string)
        .filter((name) => name !== 'node'),
    );
    const launcher = Object.values(kind.scripts).some(([command]) => command.startsWith('coll ')) ? ['@coll/cli'] : [];
    const known = [...kind.packages.map((name) => `@coll/${name}`), ...Object.keys(kind.dependencies)];
    // A peer of the others.
    expect(new Set([...imported, ...launcher, '@coll/core'])).toEqual(new Set(known));
  });

  it('has a manifest with the version of coll, its programs and a README with its scripts', () => {
    const folder = create(kind, 'My Project');
    const { name, dependencies } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    expect({ name, core: dependencies['@coll/core'] }).toEqual({ name: 'my-project', core: '^1.2.3' });
    expect(readdirSync(folder)).toEqual(
      expect.arrayContaining(['README.md', 'pnpm-workspace.yaml', ...Object.keys(kind.programs)]),
    );
    const readme = readFileSync(path.join(folder, 'README.md'), 'utf8');
    for (const [command] of Object.values(kind.scripts)) expect(readme).toContain(command);
  });
});

it('refuses a folder that has files, and writes nothing', () => {
  const folder = path.join(scratch, 'mine');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'notes.txt'), '');
  expect(() => create(kinds['processes'] as Kind, 'mine')).toThrow(/mine must be empty: choose another folder/);
  expect(readdirSync(folder)).toEqual(['notes.txt']);
});

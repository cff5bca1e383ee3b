import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { repository } from '../markdown-files.ts';

/** Variables that only scripts and tests of this repository set. */
const internal = /^COLL_(KERNELS|MEASURE|NODE_API_\w+|STRICT|VARIANT|(TESTS?|DOUBLE)(_\w+)?)$/;
const sources = [
  'packages/*/src/',
  'native/*/src/',
  'native/*/cpp/',
  'native/*/tools/',
  'native/*/*.mjs',
  'tools/run/',
];
const name = /(?<![A-Z_])COLL_[A-Z_]+(?![A-Z_]|\()/g;

it('every variable that the sources read is in docs/reference/environment.md, and the other way round', () => {
  const files = execFileSync(
    'git',
    ['ls-files', ...sources.map((folder) => (folder.endsWith('/') ? `${folder}*` : folder))],
    { cwd: repository, encoding: 'utf8' },
  )
    .trim()
    .split('\n');
  const read = new Set(['COLL_NETLAB']);
  for (const file of files) {
    if (/[.-]test\.|\/doubles\/|\/test\//.test(file)) continue;
    const text = readFileSync(path.join(repository, file), 'utf8');
    const lines = file.includes('/cpp/') ? text.split('\n').filter((line) => line.includes('getenv')) : [text];
    for (const [variable] of lines.join('\n').matchAll(name)) if (!internal.test(variable)) read.add(variable);
  }
  const page = readFileSync(path.join(repository, 'docs/reference/environment.md'), 'utf8');
  const listed = [...page.matchAll(/^\| (`COLL_.*?) \|/gm)].flatMap(([, cell = '']) => cell.match(name) ?? []);
  expect(listed.toSorted()).toEqual([...read].toSorted());
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { repository } from '../markdown-files.ts';

const read = (file: string) => readFileSync(path.join(repository, file), 'utf8');

it('docs/reference/cli.md lists the options of all commands, and no others', () => {
  const options = [...read('packages/cli/src/arguments.ts').matchAll(/(?:\.option|new Option)\(\s*'([^']+)'/g)];
  const known = options.map(([, flags = '']) => /--[\w-]+/.exec(flags)?.[0]);
  const listed = [...read('docs/reference/cli.md').matchAll(/^\| (`-.*?) \|/gm)];
  const shown = listed.map(([, cell = '']) => /--[\w-]+/.exec(cell)?.[0]);
  expect(known.length).toBeGreaterThan(10);
  expect(shown.toSorted()).toEqual(known.toSorted());
});

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { repository } from './markdown-files.ts';

const read = (file: string) => readFileSync(path.join(repository, file), 'utf8');

/** Messages in the headings of the page. `…` stands for text that differs from case to case. */
const messages = read('docs/troubleshooting.md')
  .split('\n')
  .filter((line) => line.startsWith('### '))
  .flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, message]) => message as string));

const listed = execFileSync('git', ['ls-files', 'packages', 'native'], { cwd: repository, encoding: 'utf8' }).split(
  '\n',
);
const sources = listed
  .filter((file) => /\/(src|cpp)\/.*\.(ts|cc|h)$/.test(file) && !/\.test\.ts$|\/(test|fixtures|doubles)\//.test(file))
  .map(read)
  .join('\n');

it('reads messages from the headings', () => {
  expect(messages.length).toBeGreaterThan(20);
});

it.each(messages)('quotes a message that the sources still contain: %s', (message) => {
  expect(message.split('…').filter((part) => !sources.includes(part.trim()))).toEqual([]);
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { reportFiles, withSection } from '../src/report/write-report.js';

const root = path.resolve(import.meta.dirname, '../../..');
const files = [...reportFiles()];

it('the generated report contains a page, and every chart that the page shows', () => {
  const names = files.map(([file]) => file);
  expect(names).toEqual(expect.arrayContaining(['docs/internals/benchmarks.md', 'README.md']));
  const page = files[0]?.[1] as string;
  const shown = [...page.matchAll(/\]\(\.\.\/(figures\/[^)]+\.svg)\)/g)].map(([, picture]) => `docs/${picture}`);
  expect(shown.length).toBeGreaterThan(3);
  expect(names).toEqual(expect.arrayContaining(shown));
});

it.each(files)('%s shows the checked-in figures: npm run bench -- report', (file, text) => {
  expect(readFileSync(path.join(root, file), 'utf8') === text).toBe(true);
});

it('a section is replaced between its marks, and the rest is kept', () => {
  const marked = (section: string) => `a\n\n<!-- figures -->\n\n${section}\n\n<!-- /figures -->\n\nb\n`;
  expect(withSection(marked('old'), 'new', 'page')).toBe(marked('new'));
  expect(() => withSection('a', 'new', 'page')).toThrow('page has no place for figures');
});

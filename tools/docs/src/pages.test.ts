import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { madeFiles, urlOf } from './pages.ts';

const files = [...madeFiles()];

it('the generator writes every page and its pictures', () => {
  const names = files.map(([file]) => file);
  const page = files.find(([file]) => file === 'docs/explanation/algorithms.md')?.[1] ?? '';
  const shown = [...page.matchAll(/\]\(\.\.\/(figures\/[^)]+\.svg)\)/g)].map(([, picture]) => `docs/${picture}`);
  expect(shown.length).toBeGreaterThan(5);
  expect(names.filter((name) => name.endsWith('.svg'))).toEqual(shown);
});

it.each(files)('%s matches the current schedules, packs and figures: npm run pages -w @coll/docs', (file, text) => {
  expect(existsSync(urlOf(file))).toBe(true);
  expect(readFileSync(urlOf(file), 'utf8')).toBe(text);
});

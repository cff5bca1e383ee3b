import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { algorithmsPage } from './algorithm-tables.ts';

it('keeps docs/algorithms.md as the schedules are; npm run algorithms -w @coll/docs writes it anew', () => {
  expect(readFileSync(new URL('../../docs/algorithms.md', import.meta.url), 'utf8')).toBe(algorithmsPage());
});

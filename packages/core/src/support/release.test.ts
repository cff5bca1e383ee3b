import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { release } from './release.js';

it('the release is the version of the published package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(release).toBe(version);
});

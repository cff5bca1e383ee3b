import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CollError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { loadingOf } from './module-loading.js';

const source = pathToFileURL(path.join(import.meta.dirname, 'module-loading.ts')).href;

describe('loadingOf', () => {
  it.each(['x.ts', 'x.mts', 'x.cts', 'x.tsx', 'x.js'])(
    'finds the loader for %s, also where the module has none',
    (name) => {
      const { tsx } = loadingOf([pathToFileURL(`/nowhere/${name}`).href], source);
      expect(tsx).toMatch(/^file:.*node_modules\/tsx\/.*\.[cm]js$/);
    },
  );

  it('lets threads resolve packages as this thread does', () => {
    expect(loadingOf(['data:text/javascript,'], source)).toMatchObject({ execArgv: ['--conditions=@coll/source'] });
  });

  it('refuses what is no URL', () => {
    expect(() => loadingOf(['./replica.js'])).toThrow(CollError);
    expect(() => loadingOf(['./replica.js'])).toThrow(/"\.\/replica.js" is no URL that a thread can import/);
  });
});

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
      const file = expect.stringMatching(/^file:.*node_modules\/tsx\/.*\.[cm]js$/);
      expect(tsx).toMatchObject({ esm: file, cjs: file });
    },
  );

  it.each([
    ['x.ts', true],
    ['x.js', true],
    ['x.cts', true],
    ['x.cjs', true],
    ['x.mts', false],
    ['x.mjs', false],
    ['x.mjs.js', true],
  ])('takes %s outside of any package for CommonJS: %s', (name, isCommonJs) => {
    expect(loadingOf([pathToFileURL(`/nowhere/${name}`).href], source).tsx?.isCommonJs).toBe(isCommonJs);
  });

  it('takes modules of a package of type "module" for ES modules, but not .cjs', () => {
    const isCommonJs = (name: string) => loadingOf([new URL(name, source).href], source).tsx?.isCommonJs;
    expect(['x.js', 'x.ts', 'x.cjs', 'x.cjs.js'].map(isCommonJs)).toEqual([false, false, true, false]);
  });

  it('lets threads resolve packages as this thread does', () => {
    expect(loadingOf(['data:text/javascript,'], source)).toMatchObject({ execArgv: ['--conditions=@coll/source'] });
  });

  it('refuses what is no URL', () => {
    expect(() => loadingOf(['./replica.js'])).toThrow(CollError);
    expect(() => loadingOf(['./replica.js'])).toThrow(/"\.\/replica.js" is no URL that a thread can import/);
  });
});

import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CollError } from '@coll/core';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Loading, loadingOf, requireSameCopy } from './module-loading.js';

const source = pathToFileURL(path.join(import.meta.dirname, 'module-loading.ts')).href;

const ownFlags = process.execArgv;

/** Simulates that this process was started with these flags and this NODE_OPTIONS. */
function withFlags(flags: string[], nodeOptions = ''): void {
  process.execArgv = flags;
  vi.stubEnv('NODE_OPTIONS', nodeOptions);
}

/** Simulates whether this Node.js strips types from TypeScript. */
function stripTypes(typescript: false | 'strip'): void {
  vi.stubGlobal('process', Object.create(process, { features: { value: { typescript } } }));
}

afterEach(() => {
  vi.unstubAllGlobals();
  process.execArgv = ownFlags;
  vi.unstubAllEnvs();
});

describe('loadingOf a module outside any package, from a compiled library', () => {
  const own = 'file:///nowhere/library.js';
  const tsx = createRequire(import.meta.url).resolve('tsx');
  const loader = pathToFileURL(tsx).href;

  it('needs no loader for JavaScript in a process without tsx', () => {
    withFlags(['--no-warnings', '--import=file:///nowhere/tsxes.mjs'], '--max-old-space-size=100  --title=x-tsx');
    for (const name of ['x.js', 'x.mjs', 'x.cjs', 'x.ts.js', 'x.tsy', 'xts']) {
      const module = `file:///nowhere/${name}`;
      expect(loadingOf([module], own)).toStrictEqual({ module, tsx: undefined });
    }
  });

  it.each([
    [['--import', loader], ''],
    [[`--import=${loader}`], ''],
    [[], `--no-warnings  --import=${loader}`],
  ])('finds tsx by the flags %j and NODE_OPTIONS=%j that load it', (flags, nodeOptions) => {
    withFlags(flags, nodeOptions);
    const loading = loadingOf(['file:///nowhere/x.js'], own);
    expect(loading).not.toHaveProperty('execArgv');
    expect(loading.tsx).toMatchObject({ esm: expect.stringContaining('/tsx/'), isCommonJs: true });
  });

  it.each(['tsx', '--import=tsx', '--import=tsx/esm', '/bin/tsx', 'C:\\tsx\\cli'])(
    'treats %s as the flag of a process under tsx, and looks for tsx next to the library',
    (flag) => {
      withFlags([flag]);
      expect(loadingOf(['file:///nowhere/x.js'], own).tsx).toBeUndefined();
      expect(loadingOf([new URL('x.js', source).href], own).tsx).toMatchObject({ isCommonJs: false });
    },
  );

  it.each(['x.ts', 'x.mts', 'x.cts', 'x.tsx'])('refuses %s, which no loader supports', (name) => {
    withFlags([]);
    stripTypes(false);
    expect(() => loadingOf(['file:///nowhere/a.js', `file:///nowhere/${name}`], own)).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_MODULE',
        message: expect.stringContaining(`file:///nowhere/${name} is TypeScript, which a worker thread of Node`),
      }),
    );
    stripTypes('strip');
    const module = `file:///nowhere/${name}`;
    expect(loadingOf([module], own)).toStrictEqual({ module, tsx: undefined });
  });

  it('treats a module that is not a file as an ES module', () => {
    expect(loadingOf(['data:text/javascript,'], source).tsx?.isCommonJs).toBe(false);
    expect(loadingOf([pathToFileURL(path.join(path.dirname(tsx), '../x.js')).href], source).tsx).toMatchObject({
      isCommonJs: false,
    });
    const typescript = createRequire(import.meta.url).resolve('typescript');
    expect(loadingOf([pathToFileURL(typescript).href], source).tsx?.isCommonJs).toBe(true);
  });
});

describe('loadingOf', () => {
  it.each(['x.ts', 'x.mts', 'x.cts', 'x.tsx', 'x.js'])(
    "finds the loader for %s, even if the module's folder has none",
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
  ])('treats %s outside any package as CommonJS: %s', (name, isCommonJs) => {
    expect(loadingOf([pathToFileURL(`/nowhere/${name}`).href], source).tsx?.isCommonJs).toBe(isCommonJs);
  });

  it('treats files of a package of type "module" as ES modules, except .cjs', () => {
    const isCommonJs = (name: string) => loadingOf([new URL(name, source).href], source).tsx?.isCommonJs;
    expect(['x.js', 'x.ts', 'x.cjs', 'x.cjs.js'].map(isCommonJs)).toEqual([false, false, true, false]);
  });

  it('makes threads resolve packages like the current thread', () => {
    expect(loadingOf(['data:text/javascript,'], source)).toMatchObject({ execArgv: ['--conditions=@coll/source'] });
    withFlags(['--conditions=other', '--no-warnings', 'x--conditions=']);
    const execArgv = ['--conditions=other', '--conditions=@coll/source'];
    expect(loadingOf(['data:text/javascript,'], source)).toMatchObject({ execArgv });
    withFlags(['--conditions=@coll/source']);
    expect(loadingOf(['data:text/javascript,'], source).execArgv).toEqual(['--conditions=@coll/source']);
  });

  it('refuses a string that is not a URL', () => {
    expect(() => loadingOf(['./replica.js'])).toThrow(CollError);
    expect(() => loadingOf(['./replica.js'])).toThrow(expect.objectContaining({ code: 'ERR_COLL_MODULE' }));
    expect(() => loadingOf(['./replica.js'])).toThrow(/"\.\/replica.js" is not a URL that a thread can import/);
  });
});

it('requireSameCopy refuses a module for which the threads have the wrong copy of this library', () => {
  const module = 'file:///x.ts';
  const plain: Loading = { module, tsx: undefined };
  const [esm, commonJs] = [false, true].map((isCommonJs) => ({
    module,
    tsx: { esm: 'file:///e', cjs: 'file:///c', isCommonJs },
  })) as [Loading, Loading];
  for (const [wanted, started] of [
    [esm, plain],
    [plain, esm],
    [commonJs, commonJs],
  ] as const)
    requireSameCopy(module, wanted, started);
  const refused = (message: string) =>
    expect.objectContaining({ code: 'ERR_COLL_MODULE', message: expect.stringContaining(message) });
  expect(() => requireSameCopy(module, commonJs, plain)).toThrow(
    refused('file:///x.ts is CommonJS, but the threads of this strategy were started for ES modules'),
  );
  expect(() => requireSameCopy('file:///x.js', plain, commonJs)).toThrow(
    refused("is an ES module, but the threads of this strategy were started for CommonJS: pass { threads: 'own' }"),
  );
});

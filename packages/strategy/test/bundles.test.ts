import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { build as viteBuild } from 'vite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import webpack from 'webpack';

const fixture = (name: string) => path.join(import.meta.dirname, `fixtures/bundled/${name}.ts`);
const entries = Object.fromEntries(['main', 'replica', 'replica-thread'].map((name) => [name, fixture(name)]));
const conditions = ['@coll/source', 'module', 'import', 'node'];
const optional = ['ioredis', 'tsx'];

let folder: string;
beforeEach(async () => {
  // Outside of the checkout, so that a bundle finds nothing but itself.
  folder = await mkdtemp(path.join(tmpdir(), 'coll-bundle-'));
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
});
afterEach(() => rm(folder, { recursive: true }));

const bundlers: Record<string, (outdir: string) => Promise<unknown>> = {
  esbuild: (outdir) =>
    esbuild.build({
      entryPoints: entries,
      outdir,
      conditions,
      external: optional,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      logLevel: 'error',
    }),
  vite: (outDir) =>
    viteBuild({
      configFile: false,
      logLevel: 'error',
      resolve: { conditions },
      ssr: { noExternal: true, resolve: { conditions } },
      build: {
        ssr: true,
        outDir,
        emptyOutDir: false,
        rollupOptions: {
          input: entries,
          external: optional,
          output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' },
        },
      },
    }),
  webpack: (outdir) => bundleByWebpack(outdir, false),
};

/** `importMeta`: whether webpack replaces import.meta.url by where the source is, and takes URLs relative to it for assets, as it does by default. */
function bundleByWebpack(outdir: string, importMeta: boolean): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const typescript = path.join(import.meta.dirname, 'fixtures/bundled/typescript-loader.cjs');
    const options: webpack.Configuration = {
      mode: 'none',
      target: 'node20',
      entry: entries,
      output: {
        path: outdir,
        filename: '[name].js',
        chunkFilename: '[name].js',
        module: true,
        library: { type: 'module' },
      },
      experiments: { outputModule: true },
      externals: optional,
      module: { rules: [{ test: /\.ts$/, use: typescript }], parser: { javascript: { importMeta } } },
      resolve: { conditionNames: conditions, extensionAlias: { '.js': ['.ts', '.js'] } },
    };
    webpack(options, (error, stats) => {
      if (error ?? stats?.hasErrors()) reject(error ?? new Error(stats?.toString({ all: false, errors: true })));
      else resolve(stats);
    });
  });
}

describe.each(Object.entries(bundlers))('a program bundled by %s', (_, bundle) => {
  it('runs two replicas in threads with the entry replica-thread next to it', async () => {
    await bundle(folder);
    expect((await run()).stdout).toBe('3 3\n');
  }, 300_000);
});

it('webpack treats no file of the checkout as an asset, such as the binary of the native engine', async () => {
  await bundleByWebpack(folder, true);
  expect((await readdir(folder)).filter((name) => !/\.js(on)?$/.test(name))).toEqual([]);
}, 300_000);

it('a bundle without the entry replica-thread reports that the entry is missing', async () => {
  await bundlers['esbuild']?.(folder);
  await rm(path.join(folder, 'replica-thread.js'));
  await expect(run()).rejects.toMatchObject({
    stderr: expect.stringMatching(/replica-thread.js is missing.*'@coll\/strategy\/replica-thread'/),
  });
}, 300_000);

function run() {
  return promisify(execFile)(process.execPath, ['main.js'], { cwd: folder });
}

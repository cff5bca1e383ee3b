import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Plugin } from 'vite';
import { addresses, bundlePackages, isPackageSource, type Manifest } from './bundle-packages.ts';

const root = path.resolve(import.meta.dirname, '../..');
const compiled = path.join(root, 'out-tsc/compiled');
const folders = ['packages', 'native', 'tools/bench', 'tools/gpu-check', 'tools/tests', 'examples'];
const builtElsewhere = new Set(['node_modules', 'dist', 'build', 'out-tsc']);

/**
 * Compiles all sources, so that processes and threads of tests run JavaScript: with tsx, each of them would
 * spend a second of CPU time on loading sources. The compiled folder has the same layout, and exports of
 * packages lead to compiled sources. Packages are bundled, because a program that loads 300 small files
 * spends a quarter of a second on them. Only the modules that other files name exist separately; they share
 * all other modules in chunks. `import.meta.url` of every module under test points to this folder, so a
 * module that is found relative to it is JavaScript as well. The folder also contains the TypeScript files,
 * for tests that load TypeScript.
 */
export function compiledSources(): Plugin {
  return {
    name: 'compiled-sources',
    enforce: 'pre',
    async config() {
      compiling ??= compileSources();
      await compiling;
    },
    transform(code, id) {
      const file = path.relative(root, id);
      const isSource = folders.some((folder) => file.startsWith(`${folder}/`));
      if (!isSource || !code.includes('import.meta.url')) return undefined;
      const url = pathToFileURL(path.join(compiled, scriptOf(file))).href;
      return { code: `import.meta.url = '${url}'; ${code.replace(addresses, '$1.js')}`, map: null };
    },
  };
}

/**
 * Lets tests import the compiled packages. Vitest would evaluate the sources one by one in the process of each test file,
 * which takes a second of CPU time.
 */
export function compiledPackages(): Plugin {
  return {
    name: 'compiled-packages',
    enforce: 'pre',
    config: () => ({ test: { server: { deps: { external: [/\/out-tsc\/compiled\//] } } } }),
    async resolveId(name, importer, options) {
      const found = await this.resolve(name, importer, { ...options, skipSelf: true });
      const file = found ? path.relative(root, found.id) : '';
      return isPackageSource(file) ? path.join(compiled, scriptOf(file)) : found;
    },
  };
}

const imports = /(\b(?:from|import) ?\(?['"]\.{1,2}\/[^'"\n]*)\.ts(?=['"])/g;

let compiling: Promise<void> | undefined;

/** Compiles the sources that have changed since the last run, or all if the compiler has changed. */
async function compileSources(): Promise<void> {
  const files = folders.flatMap(filesIn);
  const changed = ['compiled-sources.ts', 'bundle-packages.ts'].some((name) => hasChanged(`tools/tests/${name}`))
    ? files
    : files.filter(hasChanged);
  if (changed.length === 0) return;
  const scripts = changed.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'));
  const { outputFiles } = await build({
    entryPoints: scripts.filter((file) => !isPackageSource(file)),
    absWorkingDir: root,
    outbase: root,
    outdir: compiled,
    write: false,
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'silent',
  });
  for (const { path: file, text } of outputFiles) {
    write(file, text.replace(addresses, '$1.js').replace(imports, '$1.js'));
  }
  for (const [file, text] of await bundlePackages(files, { root, outdir: compiled })) write(file, text);
  // The copies are written last, because the next run compares them to find changed sources.
  for (const file of changed) write(path.join(compiled, file), contentOf(file));
}

function filesIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    // A test may build this folder later.
    if (entry.name === 'build.mjs') link(path.join(root, folder, 'build'), path.join(compiled, folder, 'build'));
    if (builtElsewhere.has(entry.name)) link(path.join(root, file), path.join(compiled, file));
    else if (entry.isDirectory()) return filesIn(file);
    else if (entry.isFile()) return [file];
    return [];
  });
}

function hasChanged(file: string): boolean {
  const copy = path.join(compiled, file);
  return !existsSync(copy) || readFileSync(copy, 'utf8') !== contentOf(file);
}

/** The content of a file in the folder of compiled sources. */
function contentOf(file: string): string {
  const text = readFileSync(path.join(root, file), 'utf8');
  return path.basename(file) === 'package.json' ? manifestOf(JSON.parse(text), path.dirname(file)) : text;
}

function manifestOf(manifest: Manifest, folder: string): string {
  link(path.join(compiled, folder), path.join(compiled, 'node_modules', manifest.name));
  const entries = Object.entries(manifest.exports ?? {}).map(([subpath, target]) => {
    const source = typeof target === 'string' ? undefined : target['@coll/source'];
    return [subpath, source === undefined ? target : scriptOf(source)];
  });
  return JSON.stringify({ ...manifest, exports: Object.fromEntries(entries) });
}

function scriptOf(source: string): string {
  return source.replace(/\.ts$/, '.js');
}

/** Replaces a file atomically, so that other processes read either version. */
function write(file: string, content: string): void {
  const whole = `${file}.${process.pid}`;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(whole, content);
  renameSync(whole, file);
}

function link(target: string, at: string): void {
  mkdirSync(path.dirname(at), { recursive: true });
  try {
    symlinkSync(target, at);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

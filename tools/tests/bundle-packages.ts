import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { ownClassNames } from '../tsup/own-class-names.ts';

/** The fields of a manifest that locate the modules of a package. */
export interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

/** The URLs of modules in a source. '.js' is as long as '.ts', so source maps stay right. */
export const addresses = /(\bnew URL\(['"]\.{1,2}\/[^'"\n]*)\.ts(?=['"], import\.meta\.url)/g;

/** The absolute paths of the repository and of the bundles. */
interface Places {
  readonly root: string;
  readonly outdir: string;
}

export const isPackageSource = (file: string) =>
  /^(packages|native)\/[^/]+\/src\/.*(?<!\.test|\.test-d)\.ts$/.test(file);

/**
 * Bundles all packages at once, so that every module exists once in a process.
 * @param files all files of the repository that programs under test can load, relative to its root
 * @returns paths and contents of the bundles
 */
export async function bundlePackages(files: readonly string[], { root, outdir }: Places): Promise<[string, string][]> {
  const { outputFiles } = await build({
    entryPoints: [...entriesAmong(files, root)],
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[hash]',
    absWorkingDir: root,
    outbase: root,
    outdir,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    packages: 'external',
    define: { 'import.meta.url': 'addressOfThisModule' },
    plugins: [ownSources({ root, outdir })],
    logLevel: 'silent',
  });
  return outputFiles.map(({ path: file, text }) => [
    file,
    file.endsWith('.map') ? text : (ownClassNames(text) ?? text),
  ]);
}

/** The package sources that must be entries: exports, and modules that programs import or load by URL. */
function entriesAmong(files: readonly string[], root: string): Set<string> {
  const texts = new Map(
    files.filter((name) => name.endsWith('.ts')).map((name) => [name, readFileSync(path.join(root, name), 'utf8')]),
  );
  // Vitest itself runs what tests import.
  const helpers = new Set([...texts].flatMap(([file, text]) => (isTest(file) ? namedIn(file, text, imported) : [])));
  const entries = [...texts].flatMap(([file, text]) => {
    const own = isPackageSource(file) && text.includes('import.meta.url') ? [file] : [];
    const named = isPackageSource(file) || isUnitTest(file) ? [addressed] : [addressed, imported];
    const runsAlone = !isPackageSource(file) && !isTest(file) && !helpers.has(file);
    return [...own, ...(runsAlone ? [quoted] : named).flatMap((names) => namedIn(file, text, names))];
  });
  return new Set(entries.filter((file) => isPackageSource(file) && texts.has(file)));
}

const isTest = (file: string) => /\.test(-d)?\.ts$/.test(file);
const isUnitTest = (file: string) => isTest(file) && /^(packages|native)\/[^/]+\/src\//.test(file);

function namedIn(file: string, text: string, names: RegExp): string[] {
  return [...text.matchAll(names)].map(([, name]) =>
    path.join(path.dirname(file), name as string).replace(/\.js$/, '.ts'),
  );
}

const imported = /\b(?:from|import) ?\(?['"](\.{1,2}\/[^'"\n]*)['"]/g;
const addressed = /\bnew URL\(['"](\.[^'"\n]*)['"]/g;
// Configurations of builds name entries as 'src/index.ts'.
const quoted = /['"]((?:\.{1,2}|src)\/[^'"\n]*\.[jt]s)['"]/g;

/** Resolves `@coll/…` to the sources, and gives each module the URL that it would have without bundling. */
function ownSources({ root, outdir }: Places): Plugin {
  const folders = ['packages', 'native'].flatMap((parent) =>
    readdirSync(path.join(root, parent)).map((name) => path.join(root, parent, name)),
  );
  const sources = new Map(folders.flatMap(sourcesOf));
  return {
    name: 'own-sources',
    setup(bundling) {
      bundling.onResolve({ filter: /^@coll\// }, ({ path: name }) => {
        const source = sources.get(name);
        return source === undefined ? { external: true } : { path: source };
      });
      bundling.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path: file }) => {
        const url = pathToFileURL(path.join(outdir, path.relative(root, file).replace(/\.ts$/, '.js'))).href;
        const text = readFileSync(file, 'utf8').replace(addresses, '$1.js');
        return { contents: `const addressOfThisModule = '${url}'; ${text}`, loader: 'ts' };
      });
    },
  };
}

/** The sources of a package's exports, by the names that programs import. */
function sourcesOf(folder: string): [string, string][] {
  const file = path.join(folder, 'package.json');
  if (!existsSync(file)) return [];
  const manifest: Manifest = JSON.parse(readFileSync(file, 'utf8'));
  return Object.entries(manifest.exports ?? {}).flatMap(([subpath, target]) => {
    const source = typeof target === 'string' ? undefined : target['@coll/source'];
    return source === undefined ? [] : [[path.posix.join(manifest.name, subpath), path.join(folder, source)]];
  });
}

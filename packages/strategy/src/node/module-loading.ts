import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CollError } from '@coll/core';
import { quote } from '@coll/core/internal';

/** How a worker thread loads its modules. */
export interface Loading {
  /** The first of these modules. In a bundle, it contains the code of the thread. */
  readonly module: string;
  /** The registration of tsx, if any module is TypeScript or this process runs under tsx. */
  readonly tsx: Tsx | undefined;
  /** Undefined means the flags of this process. */
  readonly execArgv?: readonly string[];
}

/** The files that register tsx in a thread. */
export interface Tsx {
  readonly esm: string;
  readonly cjs: string;
  /**
   * Whether tsx compiles the replica's module to CommonJS. If so, the thread loads its entry by
   * `require`, so that entry and module share one copy of this library.
   */
  readonly isCommonJs: boolean;
}

/**
 * Determines how threads import these modules. In Node.js 20 threads do not inherit a TypeScript
 * loader, so they register tsx themselves if a module is TypeScript or this process runs under tsx.
 * The tsx package is searched for next to the modules.
 * @param modules the replicas' module first
 * @param own the calling module of this library: a TypeScript file means that the library runs from
 * its sources
 * @throws CollError for an invalid URL, or if a module is TypeScript and cannot be loaded
 */
export function loadingOf(modules: readonly string[], own = import.meta.url): Loading {
  const typescript = modules.filter((module) => /\.[cm]?tsx?$/.test(requireUrl(module).pathname));
  const [module] = modules as readonly [string];
  const fromSource = own.endsWith('.ts');
  const flags = tsxFlags();
  if (typescript.length === 0 && !fromSource && flags.length === 0) return { module, tsx: undefined };
  const loaders = flags.flatMap((flag) => /file:.*/.exec(flag) ?? []);
  const tsx = findTsx(module, [...modules, own, ...loaders]);
  if (tsx === undefined && typescript.length > 0 && !stripsTypes()) {
    throw new CollError(
      'ERR_COLL_MODULE',
      `${typescript[0]} is TypeScript, which a worker thread of Node ${process.versions.node} cannot load: npm install tsx, use a Node that strips types, or pass the compiled .js`,
    );
  }
  return { module, tsx, ...(fromSource ? { execArgv: sourceConditions() } : {}) };
}

/**
 * Checks that a thread which was started for other modules can load `module`. It can register tsx
 * later, but it cannot exchange its copy of this library, which is either CommonJS or not.
 * @throws CollError if the module needs the other copy
 */
export function requireSameCopy(module: string, wanted: Loading, started: Loading): void {
  if (isCommonJsIn(wanted) === isCommonJsIn(started)) return;
  const [kind, other] = isCommonJsIn(wanted) ? ['CommonJS', 'ES modules'] : ['an ES module', 'CommonJS'];
  const message = `${module} is ${kind}, but the threads of this strategy were started for ${other}`;
  throw new CollError('ERR_COLL_MODULE', `${message}: pass { threads: 'own' } to run it in threads of its own`);
}

function isCommonJsIn({ tsx }: Loading): boolean {
  return tsx?.isCommonJs ?? false;
}

function requireUrl(module: string): URL {
  if (URL.canParse(module)) return new URL(module);
  throw new CollError(
    'ERR_COLL_MODULE',
    `${quote(module)} is not a URL that a thread can import; a plug-in must state its own module: module: import.meta.url`,
  );
}

/** The flags of this process that load tsx, as `tsx program.ts` passes them to Node.js. */
function tsxFlags(): string[] {
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return flags.filter((flag) => /(^|[=/\\])tsx($|[/\\])/.test(flag));
}

function findTsx(replica: string, from: readonly string[]): Tsx | undefined {
  for (const module of from) {
    if (!module.startsWith('file:')) continue;
    try {
      // Bundlers would replace an imported `createRequire`.
      const { createRequire } = process.getBuiltinModule('node:module');
      const manifest = createRequire(module).resolve('tsx/package.json');
      return { ...registrationsOf(manifest), isCommonJs: isCommonJs(replica) };
    } catch {
      // tsx is not installed there; the next location may have it.
    }
  }
  return undefined;
}

// Uses the entries for `import`, because the entry for `require` searches for its hooks in the
// wrong folder.
function registrationsOf(manifest: string): { readonly esm: string; readonly cjs: string } {
  const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    exports: Record<'./esm/api' | './cjs/api', { import: { default: string } }>;
  };
  const fileOf = (subpath: './esm/api' | './cjs/api') =>
    new URL(exports[subpath].import.default, pathToFileURL(manifest)).href;
  return { esm: fileOf('./esm/api'), cjs: fileOf('./cjs/api') };
}

/** Whether tsx treats a module as CommonJS: by its extension, or else by its package's `type`. */
function isCommonJs(module: string): boolean {
  const { protocol, pathname } = new URL(module);
  if (protocol !== 'file:' || /\.m[jt]s$/.test(pathname)) return false;
  if (/\.c[jt]s$/.test(pathname)) return true;
  const manifest = nearestManifest(fileURLToPath(module));
  return manifest === undefined || (JSON.parse(readFileSync(manifest, 'utf8')) as { type?: string }).type !== 'module';
}

function nearestManifest(file: string): string | undefined {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, 'package.json');
    if (existsSync(manifest)) return manifest;
    if (folder === path.dirname(folder)) return undefined;
  }
}

function stripsTypes(): boolean {
  return Boolean((process.features as { typescript?: unknown }).typescript);
}

// Only this library's own development runs from its sources. A worker with explicit execArgv
// inherits none.
function sourceConditions(): string[] {
  const inherited = process.execArgv.filter((flag) => flag.startsWith('--conditions='));
  return [...new Set([...inherited, '--conditions=@coll/source'])];
}

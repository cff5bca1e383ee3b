import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { CollError, quote } from '@coll/core';

/** How a worker thread gets to its modules. */
export interface Loading {
  /** The file of tsx's registration, where something is TypeScript. */
  readonly tsx: string | undefined;
  /** Absent: those of this process. */
  readonly execArgv?: readonly string[];
}

/**
 * What threads need to import these modules. Threads do not inherit a TypeScript loader in Node 20, so they register tsx themselves,
 * which is looked for where the modules are.
 * @param own the module of this library that asks: a TypeScript file means that the library runs from its sources
 * @throws CollError for what is no URL, or where a module is TypeScript and nothing can load it
 */
export function loadingOf(modules: readonly string[], own = import.meta.url): Loading {
  const typescript = modules.filter((module) => /\.[cm]?tsx?$/.test(requireUrl(module).pathname));
  const fromSource = own.endsWith('.ts');
  if (typescript.length === 0 && !fromSource) return { tsx: undefined };
  const tsx = findTsx([...typescript, own]);
  if (tsx === undefined && !stripsTypes()) {
    throw new CollError(
      'ERR_COLL_MODULE',
      `${typescript[0]} is TypeScript, which a worker thread of Node ${process.versions.node} cannot load: npm install tsx, use a Node that strips types, or pass the compiled .js`,
    );
  }
  return { tsx, ...(fromSource ? { execArgv: sourceConditions() } : {}) };
}

/** @throws CollError where the module, or one that it imports, is not there; what the module throws itself */
export async function importModule(module: string): Promise<Record<string, unknown>> {
  try {
    return (await import(/* webpackIgnore: true */ /* @vite-ignore */ module)) as Record<string, unknown>;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new CollError('ERR_COLL_MODULE', `${module} cannot be loaded in a thread of its own: ${message}`, { cause });
  }
}

function requireUrl(module: string): URL {
  if (URL.canParse(module)) return new URL(module);
  throw new CollError(
    'ERR_COLL_MODULE',
    `${quote(module)} is no URL that a thread can import; a plug-in names its own module: module: import.meta.url`,
  );
}

function findTsx(from: readonly string[]): string | undefined {
  for (const module of from) {
    if (!module.startsWith('file:')) continue;
    try {
      const manifest = createRequire(module).resolve('tsx/package.json');
      return new URL(registrationOf(manifest), pathToFileURL(manifest)).href;
    } catch {
      // Not installed there: the next place may have it.
    }
  }
  return undefined;
}

// Resolved as `import` would: the file for `require` looks for its hooks in the wrong folder.
function registrationOf(manifest: string): string {
  const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    exports: Record<string, { import: { default: string } }>;
  };
  return (exports['./esm/api'] as { import: { default: string } }).import.default;
}

function stripsTypes(): boolean {
  return Boolean((process.features as { typescript?: unknown }).typescript);
}

// Only this library's own development runs from its sources. A worker given any execArgv inherits none.
function sourceConditions(): string[] {
  const inherited = process.execArgv.filter((flag) => flag.startsWith('--conditions='));
  return [...new Set([...inherited, '--conditions=@coll/source'])];
}

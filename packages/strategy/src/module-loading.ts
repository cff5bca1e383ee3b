import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { CollError } from '@coll/core';

/** How a worker thread gets to its modules. */
export interface Loading {
  /** The file of tsx's registration, where something is TypeScript. */
  readonly tsx: string | undefined;
  readonly execArgv: readonly string[];
}

/**
 * What threads need to import these modules. Threads do not inherit a TypeScript loader in Node 20, so they register tsx themselves,
 * which is looked for where the modules are.
 * @throws CollError where a module is TypeScript and nothing can load it
 */
export function loadingOf(modules: readonly string[]): Loading {
  const typescript = modules.filter((module) => /\.[cm]?tsx?$/.test(new URL(module).pathname));
  const fromSource = import.meta.url.endsWith('.ts');
  const execArgv = [...inheritedConditions(), ...(fromSource ? ['--conditions=@coll/source'] : [])];
  if (typescript.length === 0 && !fromSource) return { tsx: undefined, execArgv };
  const tsx = findTsx([...typescript, import.meta.url]);
  if (tsx === undefined && !stripsTypes()) {
    throw new CollError(
      'ERR_COLL_MODULE',
      `${typescript[0]} is TypeScript, which a worker thread of Node ${process.versions.node} cannot load: npm install tsx, use a Node that strips types, or pass the compiled .js`,
    );
  }
  return { tsx, execArgv };
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

// A worker given any execArgv inherits none. Conditions decide which files packages resolve to; the rest is the process's own.
function inheritedConditions(): string[] {
  const flags = process.execArgv;
  return flags.flatMap((flag, index) => {
    if (flag.startsWith('--conditions=')) return [flag];
    return flag === '--conditions' || flag === '-C' ? [`--conditions=${flags[index + 1]}`] : [];
  });
}

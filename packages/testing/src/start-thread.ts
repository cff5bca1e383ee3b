import { Worker } from 'node:worker_threads';

// CommonJS, because threads that start from source text require it. Loads the TypeScript loader
// before the first module.
const bootstrap = `
const { createRequire } = require('node:module');
const { pathToFileURL } = require('node:url');
const { workerData: { entry, typescript } } = require('node:worker_threads');
function findTsx() {
  for (const from of [entry, pathToFileURL(process.cwd() + '/').href]) {
    try {
      const manifest = createRequire(from).resolve('tsx/package.json');
      return new URL(require(manifest).exports['./esm/api'].import.default, pathToFileURL(manifest)).href;
    } catch {}
  }
}
(async () => {
  const tsx = typescript ? findTsx() : undefined;
  if (tsx) (await import(tsx)).register();
  await import(entry);
})();
`;

const fromSource = import.meta.url.endsWith('.ts');

/**
 * The URL of a module in the folder of this file: its source file if this package runs from
 * sources, otherwise its built file.
 */
export function moduleBeside(name: string): string {
  return new URL(`./${name}${fromSource ? '.ts' : '.js'}`, import.meta.url).href;
}

/** Whether TypeScript files must be loaded, because the module or this package is TypeScript. */
export function needsTypeScript(module: string): boolean {
  return fromSource || /\.[cm]?tsx?$/.test(module);
}

/**
 * The Node.js flags that make threads and processes import packages of this library from the same
 * place as this process: sources or built files.
 */
export const conditions: readonly string[] = fromSource ? ['--conditions=@coll/source'] : [];

/** Starts a thread that runs a module, with a TypeScript loader if `typescript` is set. */
export function startThread(entry: string, typescript: boolean): Worker {
  const flags = conditions.length > 0 ? { execArgv: [...conditions] } : {};
  return new Worker(bootstrap, { eval: true, workerData: { entry, typescript }, ...flags });
}

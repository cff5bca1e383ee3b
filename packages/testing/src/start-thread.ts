import { Worker } from 'node:worker_threads';

// CommonJS, because a thread that is started from text is. It brings the TypeScript loader before the first module.
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

/** The address of a module of this folder, as it runs now: a source or built. */
export function moduleBeside(name: string): string {
  return new URL(`./${name}${fromSource ? '.ts' : '.js'}`, import.meta.url).href;
}

/** Whether a module, or this package, is TypeScript. */
export function needsTypeScript(module: string): boolean {
  return fromSource || /\.[cm]?tsx?$/.test(module);
}

/** Flags of Node that let a thread or process import this package as it runs now. */
export const conditions: readonly string[] = fromSource ? ['--conditions=@coll/source'] : [];

/** Starts a thread in a module, TypeScript where that is asked for. */
export function startThread(entry: string, typescript: boolean): Worker {
  const flags = conditions.length > 0 ? { execArgv: [...conditions] } : {};
  return new Worker(bootstrap, { eval: true, workerData: { entry, typescript }, ...flags });
}

import { Worker } from 'node:worker_threads';
import { RankClient } from './rank-client.js';
import type { Reply, Request } from './rank-messages.js';

export interface ThreadClientOptions {
  /** Loads TypeScript in the thread, by tsx. Default: where this package runs from its sources, or the first module is TypeScript. */
  readonly typescript?: boolean | undefined;
}

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

/** The near end of a rank's thread. It keeps the process alive only while something was asked for. */
export class ThreadClient extends RankClient<Request> {
  /** Starts a thread that can load the module. */
  constructor(module: string, { typescript = needsTypeScript(module) }: ThreadClientOptions = {}) {
    const worker = startThread(moduleBeside('rank-thread'), typescript);
    super({
      kind: 'thread',
      post: (message) => worker.postMessage(message),
      listen(onReply, onEnd) {
        worker.on('message', (reply: Reply) => onReply(reply));
        worker.on('error', onEnd);
        worker.on('exit', () => onEnd(new Error('the thread has ended')));
      },
      hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
      terminate: () => worker.terminate(),
    });
  }
}

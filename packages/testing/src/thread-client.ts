import { Worker } from 'node:worker_threads';
import { decodeError, type Reply, type Request } from './rank-messages.js';

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
const entry = new URL(fromSource ? './rank-thread.ts' : './rank-thread.js', import.meta.url).href;

// Longer than any deadline of a suite's call: a thread that is busy after this has lost its way.
const patienceMillis = 60_000;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** The near end of a rank's thread. It keeps the process alive only while something was asked for. */
export class ThreadClient {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #tickets = 0;
  #hasEnded = false;

  /** Starts a thread that can load the module. */
  constructor(module: string, { typescript = fromSource || isTypeScript(module) }: ThreadClientOptions = {}) {
    const conditions = fromSource ? { execArgv: ['--conditions=@coll/source'] } : {};
    this.#worker = new Worker(bootstrap, { eval: true, workerData: { entry, typescript }, ...conditions });
    this.#worker.unref();
    this.#worker.on('message', (reply: Reply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end(new Error('the thread has ended')));
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Posts a request; the answer is what `rank-thread` says it is. @throws the thread's error */
  async request<Answer>(request: Request): Promise<Answer> {
    if (this.#hasEnded) throw new Error('the thread has ended');
    const ticket = this.#tickets++;
    this.#worker.ref();
    const busy = new Error(`the thread is still busy with ${request.type} after ${patienceMillis / 1000} s`);
    const timer = setTimeout(() => this.#end(busy), patienceMillis);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#waiting.set(ticket, { resolve: resolve as Waiting['resolve'], reject });
        this.#worker.postMessage({ ticket, request });
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(ticket);
      if (this.#waiting.size === 0) this.#worker.unref();
    }
  }

  /** Ends the thread in the middle of whatever it does. */
  async terminate(): Promise<void> {
    this.#end(new Error('the thread was terminated'));
    await this.#worker.terminate();
  }

  #settle({ ticket, answer, error }: Reply): void {
    const waiting = this.#waiting.get(ticket);
    if (error) waiting?.reject(decodeError(error));
    else waiting?.resolve(answer);
  }

  #end(error: Error): void {
    this.#hasEnded = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    void this.#worker.terminate();
  }
}

function isTypeScript(module: string): boolean {
  return /\.[cm]?tsx?$/.test(module);
}

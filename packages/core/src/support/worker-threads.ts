/** One end of a message channel of Node.js. */
export interface Port {
  on(event: 'message' | 'close', listener: () => void): void;
  postMessage(message: unknown): void;
  close(): void;
  unref(): void;
}

/** The parts of `node:worker_threads` that this package uses. */
interface Threads {
  readonly threadId: number;
  readonly MessageChannel: new () => { readonly port1: Port; readonly port2: Port };
  getEnvironmentData(key: string): unknown;
  setEnvironmentData(key: string, value: unknown): void;
  /** Undefined in runtimes that lack it. */
  postMessageToThread?(thread: number, message: unknown, moved: readonly Port[]): Promise<void>;
}

interface Host {
  getBuiltinModule?(name: 'node:worker_threads'): Threads | undefined;
  on(event: 'workerMessage', listener: (message: unknown) => void): void;
}

/** The process of Node.js; undefined in browsers. */
export const { process: host } = globalThis as { readonly process?: Host };

/** The module `node:worker_threads`, which this package does not import; undefined in browsers. */
export const threads = host?.getBuiltinModule?.('node:worker_threads');

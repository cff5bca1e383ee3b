/** The parts of the web platform that this room uses. The types of TypeScript's library `dom` would hold for Node.js, too. */
interface Web {
  readonly Worker: new (url: string, options: { readonly type: 'module'; readonly name: string }) => WebWorker;
  readonly MessageChannel: new () => { readonly port1: WebPort; readonly port2: WebPort };
  readonly navigator: { readonly hardwareConcurrency?: number; readonly locks: WebLocks };
}

interface Posting {
  postMessage(message: unknown, moved?: readonly unknown[]): void;
}

export interface WebPort extends Posting {
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  start(): void;
  close(): void;
}

/** A worker, as the page that has started it sees it. */
export interface WebWorker extends Posting {
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'error', listener: (event: WebErrorEvent) => void): void;
  terminate(): void;
}

interface WebErrorEvent {
  readonly message?: string;
  readonly error?: unknown;
  readonly reason?: unknown;
  readonly defaultPrevented: boolean;
  preventDefault(): void;
}

/** The global object of a worker. */
export interface WorkerScope extends Posting {
  readonly name: string;
  addEventListener(type: 'message', listener: (event: WebMessage) => void): void;
  addEventListener(type: 'error' | 'unhandledrejection', listener: (event: WebErrorEvent) => void): void;
  removeEventListener(type: 'message', listener: (event: WebMessage) => void): void;
  close(): void;
}

export interface WebMessage {
  readonly data: unknown;
  stopImmediatePropagation(): void;
}

interface WebLocks {
  request(name: string, whileHeld: () => unknown): Promise<unknown>;
}

export const web = globalThis as unknown as Web;

/** The global object of the worker that this code runs in; undefined in a page. */
export function workerScope(): WorkerScope | undefined {
  const { WorkerGlobalScope } = globalThis as { readonly WorkerGlobalScope?: unknown };
  return WorkerGlobalScope === undefined ? undefined : (globalThis as unknown as WorkerScope);
}

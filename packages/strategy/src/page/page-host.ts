import { CollError } from '@coll/core';
import { type Host, quote } from '@coll/core/internal';
import type { Loading } from '../node/module-loading.js';
import { PageContext } from './page-context.js';
import { PageThread } from './page-thread.js';
import { type WebPort, web } from './web.js';

/** A page in a browser as the host of strategies. Its main thread never blocks. */
export const pageHost: Host<Loading> = {
  // The module of a replica is the first of its worker, and imports the entry `replica-thread`.
  isBundled: () => true,
  followsPromises: false,
  createContext: () => new PageContext(),
  afterPromises: (callback) => later(callback),
  nextTurn: (callback) => later(callback),
  every: (millis, callback) => {
    const timer = setInterval(callback, millis);
    return () => clearInterval(timer);
  },
  flushOutput: async () => {},
  loadingOf: ([module]) => ({ module: requireUrl(module), tsx: undefined }),
  requireSameCopy: () => {},
  startThread: (options) => new PageThread(options),
  // The entry `replica-thread` waits for its thread, because its data arrive later.
  ownThread: () => undefined,
};

const due: (() => void)[] = [];
let turns: WebPort | undefined;

/** Calls back in the next turn of the event loop, which a timer would delay by milliseconds. */
function later(callback: () => void): void {
  due.push(callback);
  turns ??= portOfTurns();
  turns.postMessage(undefined);
}

function portOfTurns(): WebPort {
  const { port1, port2 } = new web.MessageChannel();
  port1.addEventListener('message', () => due.shift()?.());
  port1.start();
  return port2;
}

function requireUrl(module: string | undefined): string {
  if (module !== undefined && URL.canParse(module)) return module;
  throw new CollError('ERR_COLL_MODULE', `${quote(module)} is not a URL that a worker can load`);
}

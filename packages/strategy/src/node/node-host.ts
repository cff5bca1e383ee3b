import { AsyncLocalStorage } from 'node:async_hooks';
import type { Host } from '@coll/core/internal';
import { type Loading, loadingOf, requireSameCopy } from './module-loading.js';
import { NodeThread, threadEntry } from './node-thread.js';
import { NodeOwnThread } from './own-thread.js';

/**
 * Node.js as the host of strategies. `beside` is the URL of a module in the folder of the entry `replica-thread`, unless
 * both are part of a bundle.
 */
export function nodeHost(beside: string): Host<Loading> {
  return {
    isBundled: () => threadEntry(beside) === undefined,
    followsPromises: true,
    createContext: () => new AsyncLocalStorage(),
    afterPromises: (callback) => process.nextTick(callback),
    nextTurn: (callback) => void setImmediate(callback),
    every: (millis, callback) => {
      const timer = setInterval(callback, millis).unref();
      return () => clearInterval(timer);
    },
    flushOutput: () => Promise.all([process.stdout, process.stderr].map(flush)),
    loadingOf: (modules) => loadingOf(modules),
    requireSameCopy,
    startThread: (options) => new NodeThread(options, threadEntry(beside)),
    ownThread: () => NodeOwnThread.find(),
  };
}

/** Waits until a stream has passed on everything, which takes a while if it is a pipe that is full. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}

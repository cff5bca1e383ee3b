import { type Structure, selectReplica, ValueError } from '@coll/core';
import { findDistributed } from '../scope/placed-values.js';
import type { RunOptions } from '../scope/run-options.js';

/**
 * An argument with the replica's components in place of distributed values. An argument without
 * distributed values is returned as the same object, so that replicas of one thread can share it.
 */
export function componentOf(arg: unknown, index: number): unknown {
  return findDistributed(arg) ? selectReplica(index, arg as Structure<unknown>) : arg;
}

/** @throws ValueError for an option that only modules can have */
export function requireNoThreads({ threads, transfer }: RunOptions): void {
  if (threads === undefined && transfer === undefined) return;
  const name = threads === undefined ? 'transfer' : 'threads';
  const message = `run: the option ${name} is for modules, but the code is a function, which runs in this thread`;
  throw new ValueError('ERR_COLL_VALUE', `${message}: omit ${name}, or pass the URL of a module`, { operation: 'run' });
}

/** @throws ValueError unless `code` is the URL of a module */
export function requireModule(code: unknown): asserts code is URL {
  if (code instanceof URL) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    "run takes a function, or the URL of a module: new URL('./replica.js', import.meta.url)",
    { operation: 'run' },
  );
}

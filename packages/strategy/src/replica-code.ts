import { type Structure, selectReplica, ValueError } from '@coll/core';
import { findDistributed } from './strategy.js';

/**
 * The part of an argument for a replica. An argument without distributed values is passed as the
 * same object, so that replicas of one thread can share it.
 */
export function componentOf(arg: unknown, place: number): unknown {
  return findDistributed(arg) ? selectReplica(place, arg as Structure<unknown>) : arg;
}

/** @throws ValueError unless it is a function or the URL of a module */
export function requireModule(code: unknown): asserts code is URL {
  if (code instanceof URL) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    "run takes a function, or the URL of a module: new URL('./replica.js', import.meta.url)",
    { operation: 'run' },
  );
}

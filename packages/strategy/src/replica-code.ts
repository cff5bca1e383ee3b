import { type Structure, selectReplica, ValueError } from '@coll/core';
import { findDistributed } from './strategy.js';

/** What a replica gets of an argument. What holds no distributed value is handed on as the object it is, so that replicas of one thread can share it. */
export function componentOf(arg: unknown, place: number): unknown {
  return findDistributed(arg) ? selectReplica(place, arg as Structure<unknown>) : arg;
}

/** @throws ValueError for what is neither a function nor the URL of a module */
export function requireModule(code: unknown): asserts code is URL {
  if (code instanceof URL) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    "run takes a function, or the URL of a module: new URL('./replica.js', import.meta.url)",
    { operation: 'run' },
  );
}

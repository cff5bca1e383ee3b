import { CollError, RuntimeError } from '@coll/core';

/**
 * The error of a replica with the replica's number in front of its message, and as `rank` unless one is named already. It stays the same
 * object, so that its class, code and stack are kept; only what cannot be changed is wrapped.
 */
export function annotate(error: unknown, replica: number): unknown {
  if (!(error instanceof Error) || Object.isFrozen(error)) {
    return new RuntimeError(
      'ERR_COLL_REPLICA',
      `replica ${replica}: ${error instanceof Error ? error.message : String(error)}`,
      { rank: replica, cause: error },
    );
  }
  if (annotated.has(error)) return error;
  annotated.add(error);
  const { message, stack } = error;
  error.message = `replica ${replica}: ${message}`;
  if (stack !== undefined)
    Object.defineProperty(error, 'stack', {
      value: stack.replace(message, error.message),
      configurable: true,
      writable: true,
    });
  if (!(error instanceof CollError && error.rank !== undefined)) Object.assign(error, { rank: replica });
  return error;
}

const annotated = new WeakSet<Error>();

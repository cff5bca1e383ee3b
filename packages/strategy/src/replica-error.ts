import { CollError, RuntimeError } from '@coll/core';
import { messageOf, quote } from '@coll/core/internal';

/**
 * The error of a replica with the replica's number in front of its message, and as `rank` unless one is named already. It stays the same
 * object, so that its class, code and stack are kept; only what cannot be changed is wrapped.
 */
export function annotate(error: unknown, replica: number): Error {
  if (!(error instanceof Error) || !isChangeable(error)) {
    const told = `replica ${replica}: ${messageOf(error)}`;
    return new RuntimeError('ERR_COLL_REPLICA', told, { rank: replica, cause: error });
  }
  if (annotated.has(error)) return error;
  annotated.add(error);
  putInFront(error, `replica ${replica}: `);
  if (!(error instanceof CollError && error.rank !== undefined)) Object.assign(error, { rank: replica });
  return error;
}

/** The error of what was done for a variable, with its name in front of the message. What cannot be changed stays as it is. */
export function ofVariable(error: unknown, name: string): unknown {
  if (error instanceof Error && isChangeable(error)) putInFront(error, `variable ${quote(name)}: `);
  return error;
}

function putInFront(error: Error, words: string): void {
  const { message, stack } = error;
  error.message = `${words}${message}`;
  // A function, because a message may hold what a replacement text would take for a pattern.
  if (stack !== undefined) setStack(error, message === '' ? stack : stack.replace(message, () => error.message));
}

/** Gives an error a stack that it did not get by being made. */
export function setStack(error: Error, stack: string): void {
  Object.defineProperty(error, 'stack', { value: stack, configurable: true, writable: true });
}

const annotated = new WeakSet<Error>();

// Frozen errors cannot be changed, and the message of a DOMException, such as an AbortError, has no setter.
function isChangeable(error: Error): boolean {
  if (!Object.isExtensible(error)) return false;
  let owner: object | null = error;
  while (owner && !Object.hasOwn(owner, 'message')) owner = Object.getPrototypeOf(owner);
  return owner !== null && Object.getOwnPropertyDescriptor(owner, 'message')?.writable === true;
}

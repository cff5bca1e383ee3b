import { CollError, RuntimeError } from '@coll/core';
import { messageOf, quote } from '@coll/core/internal';

/**
 * Puts the replica's number in front of an error's message, and sets `rank` unless it is set
 * already. Returns the same object, so that class, code and stack are kept; only an immutable error
 * is wrapped.
 */
export function annotate(error: unknown, replica: number): Error {
  if (!(error instanceof Error) || !isChangeable(error)) {
    const message = `replica ${replica}: ${messageOf(error)}`;
    return new RuntimeError('ERR_COLL_REPLICA', message, { rank: replica, cause: error });
  }
  if (annotated.has(error)) return error;
  annotated.add(error);
  putInFront(error, `replica ${replica}: `);
  if (!(error instanceof CollError && error.rank !== undefined)) Object.assign(error, { rank: replica });
  return error;
}

/** Puts a variable's name in front of an error's message. An immutable error is returned unchanged. */
export function ofVariable(error: unknown, name: string): unknown {
  if (error instanceof Error && isChangeable(error)) putInFront(error, `variable ${quote(name)}: `);
  return error;
}

/**
 * Puts a module's URL in front of an error's message. An immutable error is returned unchanged.
 */
export function ofModule(error: unknown, module: string): unknown {
  if (error instanceof Error && isChangeable(error)) putInFront(error, `loading ${module}: `);
  return error;
}

/** Adds words to the end of an error's message. An immutable error is returned unchanged. */
export function withNote(error: unknown, words: string): unknown {
  if (error instanceof Error && isChangeable(error)) rewrite(error, `${error.message}${words}`);
  return error;
}

function putInFront(error: Error, words: string): void {
  rewrite(error, `${words}${error.message}`);
}

function rewrite(error: Error, words: string): void {
  const { message, stack } = error;
  error.message = words;
  // The replacement is a function, because the message may contain patterns such as `$&`.
  if (stack !== undefined) setStack(error, message === '' ? stack : stack.replace(message, () => error.message));
}

/** Replaces an error's stack. */
export function setStack(error: Error, stack: string): void {
  Object.defineProperty(error, 'stack', { value: stack, configurable: true, writable: true });
}

const annotated = new WeakSet<Error>();

// Frozen errors are immutable, and the message of a DOMException, such as an AbortError, has no
// setter.
function isChangeable(error: Error): boolean {
  if (!Object.isExtensible(error)) return false;
  let owner: object | null = error;
  while (owner && !Object.hasOwn(owner, 'message')) owner = Object.getPrototypeOf(owner);
  return owner !== null && Object.getOwnPropertyDescriptor(owner, 'message')?.writable === true;
}

import { CollError, DeadlineExceededError, type ErrorCode, RuntimeError, UnavailableError } from '@coll/core';

// What a member tells the others; more of a message is of no use.
const mostCharacters = 2000;

/** The errors that a member can leave for the others, by the names of their classes. */
const kinds = { CollError, DeadlineExceededError, RuntimeError, UnavailableError } as const;

/** The error that all members get, as one of them leaves it in the store. */
export function encodeEnding({ name, code, message, rank }: CollError): Uint8Array {
  return Buffer.from(JSON.stringify({ name, code, message: message.slice(0, mostCharacters), rank }));
}

/** That error again. */
export function decodeEnding(bytes: Uint8Array, operation: string): CollError {
  const { name, code, message, rank } = parse(bytes);
  const Kind = Object.hasOwn(kinds, String(name)) ? kinds[name as keyof typeof kinds] : CollError;
  const details = { operation, ...(Number.isSafeInteger(rank) ? { rank: rank as number } : {}) };
  if (typeof message === 'string' && /^ERR_COLL_[A-Z_]+$/.test(String(code)))
    return new Kind(code as ErrorCode, message.slice(0, mostCharacters), details);
  const told =
    'a member has ended the meeting, and says nothing that can be read: look at the members, and at who else uses the store';
  return new CollError('ERR_COLL_STORE', told, details);
}

function parse(bytes: Uint8Array): Readonly<Record<'name' | 'code' | 'message' | 'rank', unknown>> {
  try {
    const value = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return { ...value, name: String(value?.name) };
  } catch {
    return { name: '', code: '', message: undefined, rank: undefined };
  }
}

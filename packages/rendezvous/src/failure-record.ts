import { CollError, DeadlineExceededError, type ErrorCode, RuntimeError, UnavailableError } from '@coll/core';

// Maximum length of an error message; a longer message adds nothing useful.
const mostCharacters = 2000;

// More ranks than any group has.
const mostRanks = 65_536;
/** The codes of the errors that a member can publish for the other members. */
const codes: readonly ErrorCode[] = [
  'ERR_COLL_CLUSTER',
  'ERR_COLL_DEADLINE',
  'ERR_COLL_PEER_FAILED',
  'ERR_COLL_REFUSED',
  'ERR_COLL_STORE',
];

/** The classes of the errors that a member can publish for the other members, by class name. */
const kinds = { CollError, DeadlineExceededError, RuntimeError, UnavailableError } as const;

const sameForAll: readonly unknown[] = [
  'ERR_COLL_CLUSTER',
  'ERR_COLL_PEER_FAILED',
  'ERR_COLL_REFUSED',
  'ERR_COLL_STORE',
];

/** Converts an error that occurred on the member `rank` to the error that the other members get. */
export function errorForOthers(error: unknown, rank: number, operation: string): CollError {
  const { message, code, ranks } = error as Partial<CollError>;
  const details = { rank, ranks, operation };
  // All members detect mismatched or missing members and throw the same error.
  if (sameForAll.includes(code)) return error as CollError;
  const why = code === 'ERR_COLL_ABORTED' ? 'the call was aborted' : message;
  const text = `rank ${rank} cannot ${operation}: ${why}`;
  // The time limit has passed for all members.
  if (code === 'ERR_COLL_DEADLINE') return new DeadlineExceededError(code, text, details);
  // A mistake in the program; retrying does not help.
  if (code === 'ERR_COLL_VALUE') return new RuntimeError('ERR_COLL_CLUSTER', text, details);
  return new UnavailableError('ERR_COLL_PEER_FAILED', text, details);
}

/** Encodes the error that a member publishes in the store for all members. */
export function encodeFailureRecord({ name, code, message, rank, ranks }: CollError): Uint8Array {
  return Buffer.from(JSON.stringify({ name, code, message: message.slice(0, mostCharacters), rank, ranks }));
}

/** Decodes an error that a member has published. */
export function decodeFailureRecord(bytes: Uint8Array, operation: string): CollError {
  const { name, code, message, rank, ranks } = parse(bytes);
  const Kind = Object.hasOwn(kinds, String(name)) ? kinds[name as keyof typeof kinds] : CollError;
  const details = { operation, ...(isRank(rank) ? { rank } : {}), ...(areRanks(ranks) ? { ranks } : {}) };
  if (typeof message === 'string' && codes.includes(code as ErrorCode))
    return new Kind(code as ErrorCode, printable(message.slice(0, mostCharacters)), details);
  const text =
    'a member ended the rendezvous with a record that cannot be parsed: check that all members use the same version, and that no other program uses the store';
  return new CollError('ERR_COLL_STORE', text, details);
}

function isRank(rank: unknown): rank is number {
  return Number.isInteger(rank) && (rank as number) >= 0 && (rank as number) < mostRanks;
}

function areRanks(ranks: unknown): ranks is readonly number[] {
  return Array.isArray(ranks) && ranks.length <= mostRanks && ranks.every(isRank);
}

/** Replaces control characters, which could confuse terminals. */
function printable(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}/gu, ' ');
}

function parse(bytes: Uint8Array): Readonly<Partial<Record<'name' | 'code' | 'message' | 'rank' | 'ranks', unknown>>> {
  try {
    const value = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return { ...value, name: String(value?.name) };
  } catch {
    return {};
  }
}

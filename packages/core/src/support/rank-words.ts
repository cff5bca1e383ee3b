import type { CollError, ErrorCode, ErrorDetails } from './errors.js';

/** Returns the name of a rank for a message. */
export type RankName = (rank: number) => string;

/** Composes a message; `name` returns the names of the ranks in it. */
export type RankWords = (name: RankName) => string;

// Works across separately installed copies of the library.
const key = Symbol.for('@coll/core.words');

/**
 * An error about ranks of a group. It keeps `words`, so that an enclosing group, in which these
 * ranks have other names, can rebuild the message.
 */
export function rankError<E extends CollError>(
  Type: new (code: ErrorCode, message: string, details: ErrorDetails) => E,
  code: ErrorCode,
  words: RankWords,
  details: ErrorDetails,
): E {
  return keepWords(new Type(code, words(String), details), words);
}

/** Attaches to an error the function that composes its message for other rank names. */
export function keepWords<E extends CollError>(error: E, words: RankWords): E {
  return Object.defineProperty(error, key, { value: words });
}

/** The function that composes an error's message; without one, its fixed message. */
export function wordsOf(error: CollError): RankWords {
  return (error as { readonly [key]?: RankWords })[key] ?? (() => error.message);
}
